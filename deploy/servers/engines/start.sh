# start.sh: runs the start.sh in `$SCRIPTS`, which replaces this process with the server. First records its own pid and start time, and the
# folder's inode, which differs in a copy of the folder. So the record exists from the first moment, even if the program that started the
# server ends.
set -eu
. "$(dirname "$0")/common.sh"
read -r boot </proc/sys/kernel/random/boot_id
echo "$$ $boot $(cut -d' ' -f22 /proc/$$/stat) $(stat -c %i .)" >process.new
mv process.new process
. "$SCRIPTS/start.sh"
