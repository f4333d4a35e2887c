import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createLogger } from '@parley/kernel/telemetry/log';
import test, { type ExecutionContext } from 'ava';
import { redisKeyValue } from '../src/key-value/redis-key-value.ts';
import { redisConnection } from '../src/redis/redis-connection.ts';

/** A connection to a Redis whose login may run no script. It knows no more than a connection needs. */
async function withoutScripts(t: ExecutionContext) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (commands) => {
      for (const [, name = ''] of String(commands).matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/gu)) {
        const isScript = name.startsWith('EVAL');
        const noScripts = `-NOPERM User parley has no permissions to run the '${name.toLowerCase()}' command`;
        socket.write(`${isScript ? noScripts : name === 'PING' ? '+PONG' : '+OK'}\r\n`);
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connection = redisConnection({ url, timeoutMs: 5_000, log: createLogger('redis', { LOG_LEVEL: 'silent' }) });
  t.teardown(async () => {
    await connection.stop();
    server.close();
  });
  await connection.start();
  return connection;
}

test('a Redis login that may run no script is not ready, and its scripts are unavailable', async (t) => {
  const connection = await withoutScripts(t);
  const refused = { kind: 'unavailable', message: 'The login of Redis lacks a permission: EVALSHA' };
  t.like(await t.throwsAsync(connection.ready()), refused);
  const entry = { key: 'parley:test', requests: 1, windowMs: 1_000, amount: 1 };
  t.like(await t.throwsAsync(redisKeyValue(connection).countAll([entry])), refused);
});
