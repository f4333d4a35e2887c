# Functions for the `install.sh` of a program that is built with Go. The builds use the user's own Go caches, so that an install from
# another checkout on this machine only links. They do not use cgo, so that the program also runs in an image that contains nothing else.
command -v go >/dev/null || unavailable 'there is no Go'
export CGO_ENABLED=0 GOFLAGS='-buildvcs=false -mod=mod' GOTOOLCHAIN=local

# module NAME MODULE...: creates a Go module that requires these modules, and enters its folder. It is a separate folder, because Go ignores
# a `go.mod` directly in the folder for temporary files.
module() {
  rm -rf module
  mkdir module
  cd module
  go mod init "cluster/$1" 2>/dev/null
  shift
  for required; do go mod edit -require "$required"; done
}

# build PROGRAM PACKAGE [LINKER_FLAGS]: builds a program without debug information, which would double its size.
build() {
  go build -trimpath -ldflags "-s -w ${3:-}" -o "$TARGET/$1" "$2"
}

# image NAME PROGRAM: makes `$TARGET/image.tar` of a program in `$TARGET`, in the format of `docker save`.
image() {
  rm -rf layer image
  mkdir -p layer/tmp image
  cp "$TARGET/$2" layer/
  mkdir -p layer/etc/ssl/certs
  tar -C layer --owner=0 --group=0 --sort=name --mtime=@0 -cf image/layer.tar .
  digest=$(sha256sum image/layer.tar | cut -d' ' -f1)
  cat >image/config.json <<JSON
{"architecture":"$(go env GOARCH)","os":"linux","config":{"Entrypoint":["/$2"],"User":"65534:65534"},
 "rootfs":{"type":"layers","diff_ids":["sha256:$digest"]}}
JSON
  echo "[{\"Config\":\"config.json\",\"RepoTags\":[\"$1\"],\"Layers\":[\"layer.tar\"]}]" >image/manifest.json
  tar -C image -cf "$TARGET/image.tar" manifest.json config.json layer.tar
}
