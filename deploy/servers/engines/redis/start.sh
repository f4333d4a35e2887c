# Writes reach the disk within a second. The configuration is passed through a pipe, so that no file contains the password.
mkdir -p -m 700 data
# Nobody can log in as `default`, but Redis replays its append-only file as this user. The user needs these rights, because Redis would
# otherwise skip the writes of scripts.
exec "$INSTALLED/run" redis-server - <<CONF
bind $HOST
# Clients may connect from anywhere, but only with the password.
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
