import test from 'ava';
import type { RawClient } from './opening-client.ts';
import { openPool } from './pool.ts';
import { statementGroup } from './statement-group.ts';

test('a connection whose server does not answer in time is closed at once', async (t) => {
  const pool = openPool({ url: 'postgres://nobody@127.0.0.1:1/none', poolSize: 1, statementTimeoutMs: 1_000 });
  let isClosed = false;
  const silent = {
    connection: { stream: { destroy: () => (isClosed = true) } },
    query: (_sent: unknown, done: (error: Error) => void) => done(new Error('Query read timeout')),
  } as unknown as RawClient;
  const group = statementGroup(pool, silent, { text: 'SELECT $1', values: ['a'] });
  const asked = t.throwsAsync(Promise.resolve(group.knex.raw('SELECT ?', [1])), { message: /Query read timeout/u });
  await group.begun;
  const failures: string[] = [];
  await t.throwsAsync(group.send(({ message }) => failures.push(message)));
  await asked;
  t.is(failures.length, 1);
  t.true(isClosed);
});
