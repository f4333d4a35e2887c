# Installs promtool, which evaluates rules of Prometheus, from the distribution's package, unpacked into a folder of its own. apt writes
# only to folders of this script, so it needs no root and does not change the machine's package lists.
apt-get --version >/dev/null && dpkg --version >/dev/null || unavailable 'there is no apt-get with Prometheus'
mkdir -p state/lists/partial cache/archives/partial unpacked
cat >apt.conf <<CONF
Dir::State "$PWD/state";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$PWD/cache";
APT::Sandbox::User "root";
CONF
export APT_CONFIG="$PWD/apt.conf"
apt-get -qq update
apt-cache show prometheus >/dev/null || unavailable 'apt-get has no Prometheus'
apt-get -qq download prometheus
dpkg -x prometheus_*.deb unpacked
mv unpacked/usr/bin/promtool "$TARGET"
