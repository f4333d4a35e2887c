#!/bin/sh
# prepare.sh COMMAND [ARGUMENT…]: installs what package-lock.json requires and is not installed yet, then runs scripts/src/COMMAND.ts with
# NODE_FLAGS on the lockfile's version of Node. Every command in scripts/ runs this file.
set -eu

root=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd -P)
command=$1
shift
cd "$root"

node=node_modules/node/bin/node
stamp=node_modules/.installed
lock=.tools/installing

say() { printf '%s\n' "parley: $*" >&2; }

fail() {
  say "$*"
  exit 1
}

machine_node() { node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0; }

# Prints what node_modules must match: the lockfile's checksum and the kind of machine.
wanted() { printf '%s %s\n' "$(cksum <package-lock.json)" "$(uname -sm)"; }

is_installed() { [ "$(cat "$stamp" 2>/dev/null)" = "$(wanted)" ]; }

has_node() { [ -x "$node" ] || [ "$(machine_node)" -ge 24 ]; }

# The lock is a symbolic link whose target is the holder's pid, because a link is created with its content in one atomic step.
take_lock() {
  announced=
  until ln -s "$$" "$lock" 2>/dev/null; do
    holder=$(readlink "$lock" || true)
    if [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; then
      clear_lock_of "$holder"
    else
      [ -n "$announced" ] || say "waiting for another install${holder:+ (process $holder)}"
      announced=yes
      sleep 1
    fi
  done
}

# Only one process may remove the lock of a dead process, and only while the lock still belongs to the dead one.
clear_lock_of() {
  mkdir ".tools/clearing-$1" 2>/dev/null || return 0
  [ "$(readlink "$lock" || true)" != "$1" ] || rm -f "$lock"
  rmdir ".tools/clearing-$1"
}

# Runs the command in the background, because a shell handles a signal only after its foreground command has ended.
quietly() {
  "$@" >.tools/install.log 2>&1 </dev/null &
  child=$!
  wait "$child" || {
    cat .tools/install.log >&2
    return 1
  }
}

interrupted() {
  [ -z "$child" ] || kill "$child" 2>/dev/null || true
  wait
  exit "$1"
}

install_packages() {
  # An install that the developer made with `npm install` is sufficient.
  node scripts/lib/installed.mjs && return
  say 'installing the dependencies with npm ci, about a minute'
  quietly npm ci --no-audit --no-fund --loglevel=error || fail 'npm ci failed; what it said stands above'
}

# npm installs Node 24 by an install script, which --ignore-scripts or a policy can prevent.
install_node() {
  say 'adding Node 24 to node_modules'
  quietly npm rebuild --foreground-scripts --ignore-scripts=false node ||
    fail "Node 24 is missing: this machine has $(node -v), and npm could not add its own; what it said stands above"
  has_node || fail "Node 24 is missing: this machine has $(node -v), and npm added none (.tools/install.log)"
}

install() {
  command -v node >/dev/null || fail 'Node is missing: install Node 20 or newer, npm included, from https://nodejs.org'
  [ "$(machine_node)" -ge 20 ] || fail "Node $(node -v) is too old: install Node 20 or newer from https://nodejs.org"
  command -v npm >/dev/null || fail 'npm is missing: it comes with Node, from https://nodejs.org'

  mkdir -p .tools
  child=
  trap 'interrupted 130' INT
  trap 'interrupted 143' TERM
  take_lock
  trap 'rm -f "$lock"' EXIT
  is_installed || install_packages
  has_node || install_node
  wanted >"$stamp"
  rm -f "$lock"
  trap - EXIT INT TERM
}

# The command `lock` repairs a lockfile that an install would reject, so it runs without an install.
if [ "$command" != lock ] || [ ! -d node_modules ]; then
  is_installed && has_node || install
fi

PATH=$root/node_modules/node/bin:$root/node_modules/.bin:$PATH
NODE_COMPILE_CACHE=${NODE_COMPILE_CACHE:-$root/node_modules/.cache/node}
NX_NO_CLOUD=true
export PATH NODE_COMPILE_CACHE NX_NO_CLOUD
[ -z "${CI:-}" ] || export NX_DAEMON=false

# shellcheck disable=SC2086 # flags, each a word of its own
exec node ${NODE_FLAGS:-} "scripts/src/$command.ts" "$@"
