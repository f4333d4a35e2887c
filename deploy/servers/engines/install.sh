# install.sh FOLDER: runs the install.sh in `$SCRIPTS`, which fills `$TARGET`; finally renames `$TARGET` to FOLDER. The script's working
# directory still contains the files of an interrupted run.
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
