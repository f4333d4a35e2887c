# Joins the cgroup, by writing this process's pid to the file `$GROUP`, so that `down` finds this process and all its children. Then
# replaces itself by the program in the arguments.
echo $$ >"$GROUP"
exec "$@"
