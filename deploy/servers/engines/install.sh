# install.sh FOLDER: has the install.sh in `$SCRIPTS` fill `$TARGET`, which becomes FOLDER by a rename when all is done. It runs in a
# folder where it finds what an interrupted run has left.
set -eu
building=$1.building
TARGET=$building/target
TMPDIR=$building/scratch
export TMPDIR
. "$(dirname "$0")/common.sh"
[ ! -e "$1" ] || exit 0
rm -rf "$TARGET"
mkdir -p "$TARGET" "$TMPDIR"
cd "$TMPDIR"
. "$SCRIPTS/install.sh"
mv "$TARGET" "$1"
rm -rf "$building"
