import { parseArgs } from 'node:util';
import { schemas } from '@parley/local/schemas';
import { migrateAll } from './migrate/migrate-all.ts';

const usage = `Brings the database of every service to the newest schema, and says what it did.

  scripts/migrate

  DATABASE_URL               postgres://user:password@host:port/database, the login that the services run under
  <SERVICE>_DATABASE_URL     the same for one service that has a database of its own, e.g. SESSION_DATABASE_URL
  MIGRATIONS_DATABASE_URL    the login that owns the schemas, where that is another one
  <SERVICE>_MIGRATIONS_DATABASE_URL   the same for one service

Each service's schema is changed in one transaction, whole or not at all; several calls at once wait for one another.
scripts/up needs none of this: it brings its database up to date by itself.
`;

const { values } = parseArgs({ options: { help: { type: 'boolean', short: 'h', default: false } } });
if (values.help) process.stdout.write(usage);
else process.exitCode = await migrateAll(schemas, process.env, process);
