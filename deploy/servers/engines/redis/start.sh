# What is written is on disk within a second. The configuration comes through a pipe, so that the password is in no file.
mkdir -p -m 700 data
# Nobody can log in as `default`, but Redis reads its own file as it: without its rights it leaves out all that scripts did.
exec "$INSTALLED/run" redis-server - <<CONF
bind $HOST
# Nobody gets in without the password, from wherever.
protected-mode no
port $PORT
dir data
daemonize no
appendonly yes
appendfsync everysec
save ""
user default off ~* &* +@all
user parley on >$PASSWORD ~parley:* &parley:* +@all -@admin -@dangerous +info
CONF
