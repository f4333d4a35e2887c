# etcd. The 3.4 of Debian is too old for Kubernetes 1.34, whose watch cache then fails with "Too large resource version".
. "$SCRIPTS/../go.sh"
module etcd "go.etcd.io/etcd/server/v3@v$VERSION"
build etcd go.etcd.io/etcd/server/v3
