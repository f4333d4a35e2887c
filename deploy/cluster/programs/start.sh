# Joins the cgroup in `$GROUP`, in which `down` finds it and all that it starts, and becomes the program in its arguments.
echo $$ >"$GROUP"
exec "$@"
