# What `install.sh` of a program made of the distribution's packages uses. All that apt writes goes into folders of its own, so that
# neither the machine's lists nor its programs change.
apt-get --version >/dev/null 2>&1 && dpkg --version >/dev/null 2>&1 || unavailable 'there is no apt-get'
mkdir -p state/lists/partial cache/archives/partial
cat >apt.conf <<CONF
Dir::State "$PWD/state";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$PWD/cache";
APT::Sandbox::User "root";
CONF
export APT_CONFIG="$PWD/apt.conf"
apt-get -qq update

# unpack PACKAGE...: unpacks these into `$TARGET`, without what they depend on.
unpack() {
  rm -rf packages
  mkdir packages
  (cd packages && apt-get -qq download "$@")
  for package in packages/*.deb; do dpkg -x "$package" "$TARGET"; done
}
