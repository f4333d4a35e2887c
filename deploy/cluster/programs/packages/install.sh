. "$(dirname "$0")/apt.sh"
has_apt || unavailable 'there is no apt-get'
read_lists
packages='containerd runc containernetworking-plugins conntrack ipset iptables nftables'
only='--no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances'
# shellcheck disable=SC2086 # lists
libraries=$(apt-cache depends --recurse $only $packages | grep '^lib' | grep -vx libc6 | sort -u)
# shellcheck disable=SC2086
unpack "$TARGET" $packages $libraries
cd "$TARGET"
rm -rf usr/share
# On an installed system, the alternatives system makes these links; the packages do not contain them.
for name in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
  ln -s xtables-nft-multi "usr/sbin/$name"
done
# The programs of these packages use the libraries of these packages. All other programs use the machine's libraries.
mkdir bin
cat >run <<'RUN'
#!/bin/sh
here=${0%/*}/..
LD_LIBRARY_PATH=$here/usr/lib/LIBRARIES:$here/lib/LIBRARIES XTABLES_LIBDIR=$here/usr/lib/LIBRARIES/xtables
export LD_LIBRARY_PATH XTABLES_LIBDIR
for folder in sbin bin; do
  [ ! -x "$here/usr/$folder/${0##*/}" ] || exec "$here/usr/$folder/${0##*/}" "$@"
done
RUN
sed -i "s,LIBRARIES,$(cd usr/lib && echo *-linux-gnu),g" run
chmod +x run
for program in usr/sbin/* usr/bin/*; do ln -sf ../run "bin/${program##*/}"; done
