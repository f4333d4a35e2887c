. "$SCRIPTS/../go.sh"
module pause
cp "$SCRIPTS/main.go" .
build pause .
image "registry.k8s.io/pause:$VERSION" pause
