# Installs Hive Gateway with the package versions of a fixed date: 745 packages, 500 MB.
npm --version >/dev/null || unavailable 'there is no npm'
npm install --prefix "$TARGET" --ignore-scripts --no-audit --no-fund --loglevel=error --before=2026-11-20 \
  @graphql-hive/gateway@2.15.1 graphql@16.12.0
