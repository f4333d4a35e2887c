# Each folder in `root` is a bucket.
mkdir -p -m 700 root root/parley iam
export ROOT_ACCESS_KEY=parley ROOT_SECRET_KEY="$PASSWORD"
exec "$INSTALLED/versitygw" --port "$HOST:$PORT" --region us-east-1 --iam-dir "$PWD/iam" --health /health --quiet \
  --keep-alive posix "$PWD/root"
