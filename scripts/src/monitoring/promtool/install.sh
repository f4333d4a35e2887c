# Installs promtool, which evaluates Prometheus' rules, from the distribution's package.
. "$(dirname "$0")/apt.sh"
has_apt || unavailable 'there is no apt-get with Prometheus'
read_lists
apt-cache show prometheus >/dev/null || unavailable 'apt-get has no Prometheus'
mkdir unpacked
unpack unpacked prometheus
mv unpacked/usr/bin/promtool "$TARGET"
