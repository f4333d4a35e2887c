# Joins the cgroup of the file in `$GROUP`, so that `down` finds this process and all its children. Then becomes the program in the
# arguments.
echo $$ >"$GROUP"
exec "$@"
