# Installs etcd. Debian's etcd 3.4 is too old for Kubernetes 1.34: the watch cache fails with "Too large resource version".
. "$SCRIPTS/../go.sh"
module etcd "go.etcd.io/etcd/server/v3@v$VERSION"
build etcd go.etcd.io/etcd/server/v3
