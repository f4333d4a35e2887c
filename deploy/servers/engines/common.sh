# Functions for `install.sh` and `start.sh` of every engine.

# unavailable REASON: ends the script with the reason why this machine cannot run the server.
unavailable() {
  echo "$*" >&2
  exit 69
}

# A command prefix for programs that refuse to run as root: runs them as nobody, with access to root's folders. `$TIE` makes the program end
# with the process that started it.
as_nobody=
if [ "$(id -u)" = 0 ]; then
  as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=+dac_override --ambient-caps=+dac_override ${TIE:-}"
fi
