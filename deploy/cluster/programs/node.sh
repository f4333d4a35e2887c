# node.sh FOLDER: becomes the process that holds the namespaces of a node. In them, what the node's programs write to /var and /run is in
# its own folder and in memory, and the folder is `/run/parley`: sockets below the checkout could have too long a path.
set -eu
cd "$1"
mkdir -p var var.work
# Without -n, mount creates the folder /run/mount of this machine.
mount -n -t tmpfs -o mode=755 node-run /run
mount -t overlay -o lowerdir=/var,upperdir=var,workdir=var.work node-var /var
mkdir /run/parley
# Not its canonical path, which may be below the new /var.
mount --no-canonicalize --bind . /run/parley
mount --make-rshared /
# kube-router enforces NetworkPolicies for IPv4 alone.
for links in all default; do
  setting=/proc/sys/net/ipv6/conf/$links/disable_ipv6
  [ ! -e "$setting" ] || echo 1 >"$setting"
done
: >ready
exec sleep infinity
