# Functions for an `install.sh` that uses the distribution's packages. The packages are only unpacked, and apt writes only to separate
# folders. So the script needs no root, and the machine's package lists and programs do not change.

has_apt() {
  apt-get --version >/dev/null 2>&1 && dpkg --version >/dev/null 2>&1
}

# Downloads the lists of packages into the current folder, from where apt-get and apt-cache then read them.
read_lists() {
  mkdir -p state/lists/partial cache/archives/partial || return
  cat >apt.conf <<CONF
Dir::State "$PWD/state";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$PWD/cache";
APT::Sandbox::User "root";
CONF
  export APT_CONFIG="$PWD/apt.conf"
  apt-get -qq update
}

# unpack FOLDER PACKAGE...: unpacks packages into a folder, without their dependencies.
unpack() {
  into=$1
  shift
  rm -rf packages && mkdir packages || return
  (cd packages && apt-get -qq download "$@") || return
  for package in packages/*.deb; do dpkg -x "$package" "$into" || return; done
}
