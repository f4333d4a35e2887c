#!/bin/sh
# Runs an image as a container engine would, but with Linux namespaces only: with its own root, in which only /tmp is writable; as process 1
# of its own PID namespace; as user 10001 without capabilities. The image shares the machine's network. Needs root.
#
# unshare --mount --pid --fork --kill-child=SIGKILL --propagation private pod.sh TREE ETC NODE TMP_MB ARGUMENT…
#
# TREE       the image, which becomes /app; Node is started there with the arguments
# ETC        a folder that becomes /etc and configures name resolution
# NODE       the path of Node's program
# TMP_MB     the size of /tmp
set -eu
tree=$1 etc=$2 node=$3 tmp=$4
shift 4
root=/mnt
read_only() {
  mkdir "$root$2"
  mount --bind "$1" "$root$2"
  mount -o remount,bind,ro "$root$2"
}
mount -t tmpfs -o mode=755 tmpfs $root
read_only /usr /usr
read_only "$tree" /app
read_only "$etc" /etc
for link in /bin /lib /lib64; do
  if [ -L $link ]; then cp -P $link $root; elif [ -d $link ]; then read_only $link $link; fi
done
mkdir $root/dev $root/proc $root/tmp
mount --rbind /dev $root/dev
mount -t proc proc $root/proc
mount -t tmpfs -o "mode=1777,size=${tmp}m" tmpfs $root/tmp
touch $root/node
mount --bind "$node" $root/node
mount -o remount,bind,ro $root
exec chroot $root /usr/bin/setpriv --reuid=10001 --regid=10001 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all \
  /usr/bin/env --chdir=/app /node "$@"
