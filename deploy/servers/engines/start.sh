# start.sh: becomes the server that the start.sh in `$SCRIPTS` starts, in the folder that it runs in. It writes down its own pid and
# start before, and the folder's inode, which a copy of the folder has not: so the record is there from the first moment, whatever
# happens to the program that started it.
set -eu
. "$(dirname "$0")/common.sh"
read -r boot </proc/sys/kernel/random/boot_id
echo "$$ $boot $(cut -d' ' -f22 /proc/$$/stat) $(stat -c %i .)" >process.new
mv process.new process
. "$SCRIPTS/start.sh"
