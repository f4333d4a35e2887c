import { migrateAll } from '@parley/commands/migrate-all';
import { schemas } from '@parley/units';
import { attempt } from './attempt.ts';
import { readOptions } from './read-options.ts';
import { listMigrations } from './rolling/observe-migrations.ts';

const usage = `Brings the database of every service to the newest schema, and says what it did.

  scripts/migrate
  scripts/migrate --list     needs no database: puts new migrations into the list of those that are never edited again

  DATABASE_URL               postgres://user:password@host:port/database, the login that the services run under
  <SERVICE>_DATABASE_URL     the same for one service that has a database of its own, e.g. SESSION_DATABASE_URL
  MIGRATIONS_DATABASE_URL    the login that owns the schemas, where that is another one
  <SERVICE>_MIGRATIONS_DATABASE_URL   the same for one service

Each service's schema is changed in one transaction, whole or not at all; several calls at once wait for one another.
scripts/up needs none of this: it brings its database up to date by itself.
`;

if (readOptions(usage, { list: { type: 'boolean' } }).list) {
  const listed = await listMigrations(schemas);
  process.stdout.write(listed.map((name) => `${name}\n`).join('') || 'all are in the list\n');
} else await attempt(() => migrateAll(schemas, process.env, console.log));
