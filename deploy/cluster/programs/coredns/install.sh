. "$SCRIPTS/../go.sh"
module coredns "github.com/coredns/coredns@v$VERSION"
cp "$SCRIPTS/main.go" .
build coredns .
image "registry.k8s.io/coredns/coredns:v$VERSION" coredns
