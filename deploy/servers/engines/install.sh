# install.sh FOLDER: runs the install.sh in `$SCRIPTS`, which writes the program to `$TARGET`, and then renames `$TARGET` to FOLDER. The
# working directory of the script keeps the files of an interrupted run for the next one.
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
