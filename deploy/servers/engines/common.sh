# What `install.sh` and `start.sh` of every engine may use.

# unavailable REASON: says why this machine cannot have that server.
unavailable() {
  echo "$*" >&2
  exit 69
}

# Before a command that refuses to run as root: runs it as nobody, who may still pass root's folders. `$TIE` ties it to its starter.
as_nobody=
if [ "$(id -u)" = 0 ]; then
  as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=+dac_override --ambient-caps=+dac_override ${TIE:-}"
fi
