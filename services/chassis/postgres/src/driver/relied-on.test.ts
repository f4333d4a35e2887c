import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import test from 'ava';
import PgTransaction from 'knex/lib/dialects/postgres/execution/pg-transaction.js';
import PgClient from 'knex/lib/dialects/postgres/index.js';
import Query, { type PgConnection } from 'pg/lib/query.js';
import { prepareValue } from 'pg/lib/utils.js';

const require = createRequire(import.meta.url);

/** The versions of knex and pg that the README beside this file describes. */
const read = { knex: '3.3.0', pg: '8.23.1' };

test('knex and pg are pinned to the versions whose inner parts were read', (t) => {
  const { dependencies } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  for (const [name, version] of Object.entries(read)) {
    t.is(dependencies[name], version, `${name} in package.json`);
    t.is(require(`${name}/package.json`).version, version, `${name} as it is installed`);
  }
});

test('knex has the methods that are extended and called', (t) => {
  for (const name of ['_query', 'positionBindings', 'prepBindings', 'validateConnection', 'transaction']) {
    t.is(typeof Reflect.get(PgClient.prototype, name), 'function', name);
  }
  t.is(typeof Reflect.get(PgTransaction.prototype, 'begin'), 'function');
});

test('knex numbers the parameters in the form that pg requires', (t) => {
  const client: PgClient = Object.create(PgClient.prototype);
  t.is(client.positionBindings('SELECT ?, ?'), 'SELECT $1, $2');
});

/** Returns the messages that a statement sends on a connection with these prepared statements. */
function messagesOf(statement: Query, parsedStatements: Record<string, string>): string[] {
  const sent: string[] = [];
  const messages = ['parse', 'bind', 'describe', 'execute', 'sync'];
  const connection = Object.fromEntries(messages.map((name) => [name, () => void sent.push(name)]));
  const known = { parsedStatements, submittedNamedStatements: {} };
  statement.prepare({ ...connection, ...known } as unknown as PgConnection);
  return sent;
}

test('a statement of pg sends all its messages at once, and parses only what the server does not have', (t) => {
  const config = { text: 'SELECT $1', values: ['a'], name: 'named' };
  const rest = ['bind', 'describe', 'execute', 'sync'];
  t.true(new Query(config).requiresPreparation());
  t.deepEqual(messagesOf(new Query(config), {}), ['parse', ...rest]);
  t.deepEqual(messagesOf(new Query(config), { named: config.text }), rest);
});

test('pg sends values as text, and bytes as they are', (t) => {
  t.is(prepareValue(7), '7');
  t.is(prepareValue(null), null);
  t.is(prepareValue(['a', null]), '{"a",NULL}');
  const bytes = Buffer.from('a');
  t.is(prepareValue(bytes), bytes);
});
