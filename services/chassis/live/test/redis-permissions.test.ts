import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createLogger } from '@parley/kernel/telemetry/log';
import test, { type ExecutionContext } from 'ava';
import { redisEventLog } from '../src/event-log/redis-event-log.ts';
import { redisKeyValue } from '../src/key-value/redis-key-value.ts';
import { redisConnection } from '../src/redis/redis-connection.ts';

/** A connection to a fake Redis that refuses some commands and implements only what a connection needs. */
async function refusing(t: ExecutionContext, refusals: Record<string, string>) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (commands) => {
      for (const [, name = ''] of String(commands).matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/gu)) {
        const refusal = refusals[name.toUpperCase()];
        socket.write(`${refusal ? `-${refusal}` : name === 'PING' ? '+PONG' : '+OK'}\r\n`);
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const logged: unknown[] = [];
  const error = (fields: { permission: string }) => void logged.push(fields.permission);
  const log = Object.assign(createLogger('redis', { LOG_LEVEL: 'silent' }), { error });
  const connection = redisConnection({ url, timeoutMs: 5_000, log });
  t.teardown(async () => {
    await connection.stop();
    server.close();
  });
  await connection.start();
  return { connection, logged };
}

const entry = { key: 'parley:test', requests: 1, windowMs: 1_000, amount: 1 };
const lacking = (permission: string) => ({
  kind: 'unavailable',
  message: `The login of Redis lacks a permission: ${permission}`,
});

test('a Redis login that may run no script is not ready, and its scripts are unavailable', async (t) => {
  const refusal = "NOPERM User parley has no permissions to run the 'evalsha' command";
  const { connection } = await refusing(t, { EVALSHA: refusal });
  t.like(await t.throwsAsync(connection.ready()), lacking('EVALSHA'));
  t.like(await t.throwsAsync(redisKeyValue(connection).countAll([entry])), lacking('EVALSHA'));
});

test('the error names the command that a script may not run, and the login is not ready', async (t) => {
  const sha = '92cc4fd7cc1fd1a2bd6db1ed8fc1fa2bf8ba0b1b';
  // In the script of `countAll`, line 3 opens a loop, line 9 reads the counter, and line 35 adds to the counter.
  const ofLine = "ERR The user executing the script can't run this command or subcommand script";
  for (const [refusal, named] of [
    [`${ofLine}: ${sha}, on @user_script:9.`, 'GET'],
    [`${ofLine}: ${sha}, on @user_script:35.`, 'INCRBY'],
    [`${ofLine}: ${sha}, on @user_script:3.`, 'GET'],
    [`ERR ACL failure in script: User parley has no permissions to run the 'pttl' command script: ${sha}`, 'PTTL'],
    [
      `${ofLine.replace('run this command or subcommand', 'access at least one of the keys mentioned in the command arguments')}: ${sha}, on @user_script:9.`,
      'GET on its key',
    ],
  ] as const) {
    const { connection, logged } = await refusing(t, { EVALSHA: refusal });
    t.like(await t.throwsAsync(redisKeyValue(connection).countAll([entry])), lacking(named));
    t.like(await t.throwsAsync(connection.ready()), lacking(named));
    await t.throwsAsync(redisKeyValue(connection).countAll([entry]));
    t.deepEqual(logged, [named], 'once');
  }
});

test('a subscription that the login may not make is refused by name', async (t) => {
  for (const [refusal, named] of [
    ["NOPERM this user has no permissions to run the 'subscribe' command", 'SUBSCRIBE'],
    ['NOPERM this user has no permissions to access one of the channels used as arguments', 'SUBSCRIBE on its channel'],
  ] as const) {
    const { connection } = await refusing(t, { SUBSCRIBE: refusal });
    t.like(await t.throwsAsync(redisKeyValue(connection).subscribe('parley:news', () => undefined)), lacking(named));
    const { signal } = new AbortController();
    t.like(
      await t.throwsAsync(redisEventLog(connection).tail('parley:stream', { after: '0' }, signal)),
      lacking(named),
    );
    t.like(await t.throwsAsync(connection.ready()), lacking(named));
  }
});

test('readers of a stream to which the login may not append are refused', async (t) => {
  const refusal = "NOPERM User parley has no permissions to run the 'publish' command script: 0, on @user_script:10.";
  const { connection } = await refusing(t, { EVALSHA: refusal });
  const { signal } = new AbortController();
  t.like(
    await t.throwsAsync(redisEventLog(connection).tail('parley:stream', { after: '0' }, signal)),
    lacking('PUBLISH'),
  );
});
