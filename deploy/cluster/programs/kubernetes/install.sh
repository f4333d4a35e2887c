# Builds the six programs of Kubernetes that the cluster needs as one program, from a Go module of this project.
. "$SCRIPTS/../go.sh"
module kubernetes "k8s.io/kubernetes@v$VERSION"
staging=$(go mod download -json "k8s.io/kubernetes@v$VERSION" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
for staged in $(sed -n 's,^[[:space:]]*\(k8s.io/[^ ]*\) => \./staging/.*,\1,p' "$staging"); do
  go mod edit -replace "$staged=$staged@v0.${VERSION#*.}"
done
cp "$SCRIPTS/main.go" .
at=k8s.io/component-base/version
minor=${VERSION#*.}
build kubernetes . "-X $at.gitVersion=v$VERSION -X $at.gitMajor=${VERSION%%.*} -X $at.gitMinor=${minor%%.*} -X $at.gitTreeState=clean"
for program in kube-apiserver kube-controller-manager kube-proxy kube-scheduler kubectl kubelet; do
  ln -s kubernetes "$TARGET/$program"
done
# A folder for people's PATH. It contains only kubectl, because people call no other program.
mkdir "$TARGET/bin"
ln -s ../kubernetes "$TARGET/bin/kubectl"
