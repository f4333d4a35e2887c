import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { listen } from '@parley/kernel/http/listen';
import { within } from '@parley/kernel/timing/timers';
import test, { type ExecutionContext } from 'ava';
import { openPool } from './pool.ts';
import { groupTransaction } from './statement-group.ts';

/** A PostgreSQL server that accepts a login and responds to no statement. */
async function silentDatabase(t: ExecutionContext) {
  const connected = Promise.withResolvers<Socket>();
  const server = createServer((socket) => {
    const loggedIn = Buffer.from([...message('R', [0, 0, 0, 0]), ...message('Z', [...Buffer.from('I')])]);
    socket.once('data', () => socket.write(loggedIn)).on('error', () => undefined);
    connected.resolve(socket);
  });
  const address = await listen(server);
  t.teardown(() => void server.close());
  return { url: `postgres://nobody@${address}/none`, connected: connected.promise };
}

function message(type: string, body: number[]): number[] {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return [...Buffer.from(type), ...length, ...body];
}

test('a group that is not answered in time closes its connection, and its error names the statement', async (t) => {
  const { url, connected } = await silentDatabase(t);
  const pool = openPool({ url, poolSize: 1, statementTimeoutMs: 200 });
  const isClosed = connected.then((socket) => once(socket.resume(), 'close'));
  const failures: string[] = [];
  const failed = ({ message }: Error) => void failures.push(message);
  const opening = { text: 'SELECT set_config($1)', values: ['a'] };
  const asked = groupTransaction(pool, { opening, atOnce: 'one', failed }, async (knex) => knex.raw('SELECT ?', [1]));
  await t.throwsAsync(asked, { message: 'SELECT $1 - Query read timeout' });
  t.deepEqual(failures, ['SELECT $1 - Query read timeout']);
  // The driver has closed the connection. The server may still run the statement, but the driver does not wait for its end.
  await within(5_000, 'Closing', isClosed);
  await pool.destroy();
});

test('when one of several statements times out, the error names them all', async (t) => {
  const { url } = await silentDatabase(t);
  const pool = openPool({ url, poolSize: 1, statementTimeoutMs: 200 });
  const opening = { text: 'SELECT set_config($1)', values: ['a'] };
  const asked = groupTransaction(pool, { opening, atOnce: 'all', failed: () => undefined }, (knex) =>
    Promise.all([knex.raw('SELECT ?', [1]), knex.raw('SELECT ? + 1', [1])]),
  );
  await t.throwsAsync(asked, { message: 'SELECT $1; SELECT $1 + 1 - Query read timeout' });
  await pool.destroy();
});
