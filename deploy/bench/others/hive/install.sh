# Installs Hive Gateway: 745 packages, 500 MB. Each package has the version that was the newest one on a fixed date.
npm --version >/dev/null || unavailable 'there is no npm'
npm install --prefix "$TARGET" --ignore-scripts --no-audit --no-fund --loglevel=error --before=2026-11-20 \
  @graphql-hive/gateway@2.15.1 graphql@16.12.0
