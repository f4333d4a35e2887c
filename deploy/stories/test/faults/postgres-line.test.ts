import { randomUUID } from 'node:crypto';
import { startServers } from '@parley/servers/start-servers';
import { serverTest } from '@parley/servers/testing/server-test';
import type { ExecutionContext } from 'ava';
import { Client } from 'pg';
import { postgresLine } from './postgres-line.ts';

async function connected(t: ExecutionContext, url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  t.teardown(() => client.end().catch(() => undefined));
  await client.connect();
  return client;
}

/** Returns the URL of the test run's PostgreSQL, or of one that is started for this test. */
async function postgresUrl(t: ExecutionContext): Promise<string> {
  const given = process.env['TEST_DATABASE_URL'];
  if (given) return given;
  const servers = await startServers({ only: ['postgres'] });
  t.teardown(() => servers.stop());
  return servers.env['DATABASE_URL'] ?? '';
}

serverTest(
  ['postgres'],
  'a COMMIT is executed and its response dropped; the responses of rollbacks and reads pass',
  async (t) => {
    const url = await postgresUrl(t);
    const line = await postgresLine(url);
    t.teardown(() => line.close());
    const direct = await connected(t, url);
    const notes = `"notes-${randomUUID()}"`;
    await direct.query(`CREATE TABLE ${notes} (text text)`);
    t.teardown(() => direct.query(`DROP TABLE ${notes}`));
    const add = async (client: Client, text: string, end: string) => {
      await client.query('BEGIN');
      await client.query(`INSERT INTO ${notes} VALUES ($1)`, [text]);
      await client.query(end);
    };
    const texts = async () =>
      (await direct.query(`SELECT text FROM ${notes} ORDER BY text`)).rows.map(({ text }) => text);

    const first = await connected(t, line.url);
    await add(first, 'a', 'COMMIT;');
    line.loseAnswers(1);
    await add(first, 'b', 'ROLLBACK;');
    await first.query('BEGIN');
    await first.query('SELECT $1', ['x'.repeat(100_000)]);
    await first.query('COMMIT;');
    t.is(line.lost(), 0);
    await t.throwsAsync(add(first, 'c', 'COMMIT;'), { message: /terminated/ });
    t.is(line.lost(), 1);
    t.deepEqual(await texts(), ['a', 'c']);

    line.loseAnswers(0);
    const second = await connected(t, line.url);
    const addPrepared = async (text: string) => {
      await second.query('BEGIN');
      await second.query({ name: 'add', text: `INSERT INTO ${notes} VALUES ($1)`, values: [text] });
      await second.query('COMMIT;');
    };
    await addPrepared('d');
    t.deepEqual(await texts(), ['a', 'c', 'd']);
    t.is(line.lost(), 1);
    line.loseAnswers(1);
    await t.throwsAsync(addPrepared('e'), { message: /terminated/ }, 'a statement that was prepared before');
    t.is(line.lost(), 2);
  },
);
