. "$SCRIPTS/../go.sh"
module metrics-server "sigs.k8s.io/metrics-server@v$VERSION"
build metrics-server sigs.k8s.io/metrics-server/cmd/metrics-server
image "registry.k8s.io/metrics-server/metrics-server:v$VERSION" metrics-server
