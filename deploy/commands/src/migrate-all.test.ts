import { randomBytes } from 'node:crypto';
import { globSync } from 'node:fs';
import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { root } from '@parley/servers/root';
import { testDatabaseUrl } from '@parley/testing/test-database';
import { schemas } from '@parley/units';
import test from 'ava';
import { migrateAll } from './migrate-all.ts';

/** Declares a schema with one table, for one test. */
function schemaNamed(name: string, statement = 'CREATE TABLE pages (tenant_id integer NOT NULL)'): SchemaDeclaration {
  return {
    name: `${name}_${randomBytes(4).toString('hex')}`,
    tables: { pages: 'tenant' },
    migrations: [{ name: '001-pages', up: async (knex) => void (await knex.raw(statement)) }],
  };
}

/** Collects the printed lines. */
function listener() {
  const lines: string[] = [];
  return { lines, say: (line: string) => void lines.push(line) };
}

test('each schema is brought up to date, and a second call has nothing to do', async (t) => {
  const env = { DATABASE_URL: await testDatabaseUrl() };
  const [one, two] = [schemaNamed('one'), schemaNamed('two')];
  const [first, second] = [listener(), listener()];

  await migrateAll([one, two], env, first.say);
  await migrateAll([one, two], env, second.say);

  t.regex(first.lines.join('\n'), new RegExp(`^${one.name}  .*001-pages\n${two.name}  .*001-pages$`, 'u'));
  t.deepEqual(second.lines, [`${one.name}  is up to date`, `${two.name}  is up to date`]);
});

test('the first schema that fails is named with its reason, and what came before stays done', async (t) => {
  const env = { DATABASE_URL: await testDatabaseUrl() };
  const [good, bad, never] = [schemaNamed('good'), schemaNamed('bad', 'CREATE TABLE of nothing'), schemaNamed('never')];
  const [first, second] = [listener(), listener()];

  const failed = await t.throwsAsync(migrateAll([good, bad, never], env, first.say));
  t.regex(failed.message, new RegExp(`^${bad.name}: .*syntax error`, 'u'));
  t.notRegex(first.lines.join(), new RegExp(never.name, 'u'));
  await migrateAll([good], env, second.say);
  t.regex(second.lines.join(), /is up to date/u);
});

test('all settings that are missing or wrong are named at once', async (t) => {
  const env = { SESSION_DATABASE_URL: 'mysql://here', AGENT_DATABASE_URL: 'postgres://localhost/agent' };

  const { message } = await t.throwsAsync(migrateAll(schemas, env, t.log));
  t.regex(message, /DATABASE_URL or IDENTITY_DATABASE_URL: is missing/u);
  t.regex(message, /DATABASE_URL or EVALUATION_DATABASE_URL: is missing/u);
  t.regex(message, /SESSION_DATABASE_URL: is not a postgres:\/\/ URL/u);
  t.notRegex(message, /AGENT/u);
});

test('a database that is away is said so, without its password', async (t) => {
  const env = { DATABASE_URL: 'postgres://me:secret@127.0.0.1:1/parley' };

  const { message } = await t.throwsAsync(migrateAll([schemaNamed('away')], env, t.log));
  t.regex(message, /^away_\w+: The database is not available \(.*ECONNREFUSED/u);
  t.notRegex(message, /secret/u);
});

test('a service may have its own database, and its own login for migrations', async (t) => {
  const schema = schemaNamed('own');
  const name = schema.name.toUpperCase();
  const env = {
    DATABASE_URL: 'postgres://127.0.0.1:1/none',
    MIGRATIONS_DATABASE_URL: 'postgres://127.0.0.1:1/none',
    [`${name}_DATABASE_URL`]: await testDatabaseUrl(),
    [`${name}_MIGRATIONS_DATABASE_URL`]: await testDatabaseUrl(),
  };

  await t.notThrowsAsync(migrateAll([schema], env, t.log));
});

test('the schema of every service that has one is among those migrated', (t) => {
  const services = globSync('services/*/src/*-schema.ts', { cwd: root }).map((path) => path.split('/')[1] ?? '');

  t.deepEqual(schemas.map(({ name }) => name).toSorted(), services.toSorted());
});
