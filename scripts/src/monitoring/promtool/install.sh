# promtool, which evaluates rules of Prometheus, from the distribution's package, unpacked aside: all that apt writes goes into folders
# of its own, so it needs no root and the machine's lists stay as they are.
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
