. "$SCRIPTS/../go.sh"
module kube-router "github.com/cloudnativelabs/kube-router/v2@v$VERSION"
build kube-router github.com/cloudnativelabs/kube-router/v2/cmd/kube-router
