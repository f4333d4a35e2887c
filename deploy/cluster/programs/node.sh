# node.sh FOLDER: becomes the process that holds the namespaces of a node. In these namespaces, files that programs write to /var are stored
# in FOLDER, and files that they write to /run stay in memory. FOLDER is also mounted as `/run/parley`, because the paths of sockets in the
# checkout could be too long.
set -eu
cd "$1"
mkdir -p var var.work
# Without -n, mount creates the folder /run/mount on this machine, outside the node.
mount -n -t tmpfs -o mode=755 node-run /run
mount -t overlay -o lowerdir=/var,upperdir=var,workdir=var.work node-var /var
mkdir /run/parley
# The path is not resolved, because FOLDER's real path may be below /var, which is another mount now.
mount --no-canonicalize --bind . /run/parley
mount --make-rshared /
# Disables IPv6, because kube-router enforces NetworkPolicies for IPv4 alone.
for links in all default; do
  setting=/proc/sys/net/ipv6/conf/$links/disable_ipv6
  [ ! -e "$setting" ] || echo 1 >"$setting"
done
: >ready
exec sleep infinity
