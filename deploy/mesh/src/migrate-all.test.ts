import { randomBytes } from 'node:crypto';
import { globSync } from 'node:fs';
import { schemas } from '@parley/local/units';
import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { root } from '@parley/servers/root';
import { testDatabaseUrl } from '@parley/testing/test-database';
import test from 'ava';
import { migrateAll } from './migrate-all.ts';

/** A schema of this test alone, of one table. */
function schemaNamed(name: string, statement = 'CREATE TABLE pages (tenant_id integer NOT NULL)'): SchemaDeclaration {
  return {
    name: `${name}_${randomBytes(4).toString('hex')}`,
    tables: { pages: 'tenant' },
    migrations: [{ name: '001-pages', up: async (knex) => void (await knex.raw(statement)) }],
  };
}

function terminal() {
  const output = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => ({ write: (text: string) => (output[name] += text) });
  return { output, streams: { stdout: stream('stdout'), stderr: stream('stderr') } };
}

test('each schema is brought up to date, and a second call has nothing to do', async (t) => {
  const env = { DATABASE_URL: await testDatabaseUrl() };
  const [one, two] = [schemaNamed('one'), schemaNamed('two')];
  const [first, second] = [terminal(), terminal()];

  t.is(await migrateAll([one, two], env, first.streams), 0);
  t.is(await migrateAll([one, two], env, second.streams), 0);

  t.regex(first.output.stdout, new RegExp(`^${one.name}  .*001-pages\n${two.name}  .*001-pages\n$`, 'u'));
  t.regex(second.output.stdout, new RegExp(`^${one.name}  is up to date\n${two.name}  is up to date\n$`, 'u'));
});

test('the first schema that fails is named with its reason, and what came before stays done', async (t) => {
  const env = { DATABASE_URL: await testDatabaseUrl() };
  const [good, bad, never] = [schemaNamed('good'), schemaNamed('bad', 'CREATE TABLE of nothing'), schemaNamed('never')];
  const [first, second] = [terminal(), terminal()];

  t.is(await migrateAll([good, bad, never], env, first.streams), 1);
  t.regex(first.output.stderr, new RegExp(`^${bad.name}: .*syntax error`, 'u'));
  t.notRegex(first.output.stdout, new RegExp(never.name, 'u'));
  await migrateAll([good], env, second.streams);
  t.regex(second.output.stdout, /is up to date/u);
});

test('all settings that are missing or wrong are named at once', async (t) => {
  const { streams, output } = terminal();
  const env = { SESSION_DATABASE_URL: 'mysql://here', AGENT_DATABASE_URL: 'postgres://localhost/agent' };

  t.is(await migrateAll(schemas, env, streams), 1);
  t.regex(output.stderr, /DATABASE_URL or IDENTITY_DATABASE_URL: is missing/u);
  t.regex(output.stderr, /DATABASE_URL or EVALUATION_DATABASE_URL: is missing/u);
  t.regex(output.stderr, /SESSION_DATABASE_URL: is not a postgres:\/\/ URL/u);
  t.notRegex(output.stderr, /AGENT/u);
});

test('a database that is away is said so, without its password', async (t) => {
  const { streams, output } = terminal();
  const env = { DATABASE_URL: 'postgres://me:secret@127.0.0.1:1/parley' };

  t.is(await migrateAll([schemaNamed('away')], env, streams), 1);
  t.regex(output.stderr, /^away_\w+: The database is not available \(.*ECONNREFUSED/u);
  t.notRegex(output.stderr, /secret/u);
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

  t.is(await migrateAll([schema], env, terminal().streams), 0);
});

test('the schema of every service that has migrations is among those migrated', (t) => {
  const services = globSync('services/*/src/migrations', { cwd: root }).map((path) => path.split('/')[1] ?? '');

  t.deepEqual(schemas.map(({ name }) => name).toSorted(), services.toSorted());
});
