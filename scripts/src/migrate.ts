import { migrateAll } from '@parley/commands/migrate-all';
import { schemas } from '@parley/units';
import { attempt } from './attempt.ts';
import { readOptions } from './read-options.ts';
import { listMigrations } from './rolling/observe-migrations.ts';

const usage = `Migrates the database of every service to the newest schema, and prints what it changed.

  scripts/migrate
  scripts/migrate --list     adds new migrations to the list of those that must not be edited; needs no database

  DATABASE_URL               postgres://user:password@host:port/database, the login of the services
  <SERVICE>_DATABASE_URL     the login of one service that has its own database, e.g. SESSION_DATABASE_URL
  MIGRATIONS_DATABASE_URL    the login that owns the schemas, if it is another one
  <SERVICE>_MIGRATIONS_DATABASE_URL   the owner's login for one service

Each service's schema changes in one transaction. Concurrent calls wait for one another. scripts/up migrates its own
database and needs no call of this command.
`;

if (readOptions(usage, { list: { type: 'boolean' } }).list) {
  const listed = await listMigrations(schemas);
  process.stdout.write(listed.map((name) => `${name}\n`).join('') || 'all are in the list\n');
} else await attempt(() => migrateAll(schemas, process.env, console.log));
