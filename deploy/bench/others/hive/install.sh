# Hive Gateway, with the versions of all its packages as they were on one day. Its 745 packages take up 500 MB.
npm --version >/dev/null || unavailable 'there is no npm'
npm install --prefix "$TARGET" --ignore-scripts --no-audit --no-fund --loglevel=error --before=2026-11-20 \
  @graphql-hive/gateway@2.15.1 graphql@16.12.0
