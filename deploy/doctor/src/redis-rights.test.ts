import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { createLogger } from '@parley/kernel/telemetry/log';
import { redisEventLog } from '@parley/live/event-log/redis-event-log';
import { redisKeyValue } from '@parley/live/key-value/redis-key-value';
import { redisConnection } from '@parley/live/redis/redis-connection';
import { type RedisClient, redisClients } from '@parley/live/redis/redis-link';
import { freePorts } from '@parley/servers/ports';
import { startServers } from '@parley/servers/start-servers';
import { serverTest } from '@parley/servers/testing/server-test';
import { eventually } from '@parley/testing/eventually';
import { units } from '@parley/units';
import test, { type ExecutionContext } from 'ava';
import { checkRedis } from './redis.ts';
import { type RedisNeeds, redisNeeds } from './redis-needs.ts';

const needs = redisNeeds(units);
const commandsOf = ({ keys }: RedisNeeds) => [...new Set(Object.values(keys).flat())];

/** Commands that every unit needs besides those in `needs`, for connection names and scripts. */
const others = ['client|setname', 'ping', 'eval', 'evalsha', 'time', 'publish', 'subscribe', 'unsubscribe'];

function accessOf(
  { keys, channels }: Pick<RedisNeeds, 'channels'> & { keys: string[] },
  commands = [...commandsOf(needs), ...others],
): string[] {
  return [
    'reset',
    'on',
    '>secret',
    ...keys.map((name) => `~${name}`),
    ...channels.map((name) => `&${name}`),
    ...commands.map((command) => `+${command.toLowerCase()}`),
  ];
}

/** Starts a Redis on which the test creates logins. */
async function openRedis(t: ExecutionContext) {
  const servers = await startServers({ only: ['redis'] });
  t.teardown(() => servers.stop());
  const { installed } = servers.server('redis').place;
  const [port = 0] = await freePorts(1);
  const args = ['redis-server', '--bind', '127.0.0.1', '--port', String(port), '--save', ''];
  const redis = spawn(`${installed}/run`, args, { stdio: 'ignore' });
  const ended = once(redis, 'exit');
  t.teardown(async () => {
    redis.kill();
    await ended;
  });
  const admin = await eventually('Redis answers', () => connected(`redis://127.0.0.1:${port}`));
  t.teardown(() => admin.destroy());
  return { admin, url: `redis://unit:secret@127.0.0.1:${port}` };
}

async function connected(url: string): Promise<RedisClient | undefined> {
  const client = redisClients(url, 5_000)('test');
  client.on('error', () => undefined);
  return client.connect().then(
    () => client,
    () => undefined,
  );
}

serverTest(
  ['redis'],
  'the doctor tries each command and name of Redis that units need, and leaves nothing',
  async (t) => {
    const { admin, url } = await openRedis(t);
    const lacks = async (...access: string[]) => {
      await admin.sendCommand(['ACL', 'SETUSER', 'unit', ...access]);
      const env = { REDIS_URL: url };
      const outcomes = await checkRedis({ env, units, allUnits: units, now: Date.now, patienceMs: 20_000 });
      return outcomes.filter(({ level }) => level !== 'ok').map(({ check, found }) => `${check}: ${found}`);
    };
    const keys = Object.keys(needs.keys);
    const { channels } = needs;

    t.deepEqual(await lacks(...accessOf({ keys, channels })), []);
    await worksWith(t, url);
    t.deepEqual(await lacks('reset', 'on', '>secret', '~parley:*', '&parley:*', '+@all', '-@admin', '-@dangerous'), []);

    for (const command of [...commandsOf(needs), 'eval', 'evalsha', 'time', 'publish', 'subscribe']) {
      const [found = '', ...more] = await lacks(...accessOf({ keys, channels }), `-${command.toLowerCase()}`);
      t.regex(found, new RegExp(`^redis.rights: the login may not: (?:${command}\\b|.*; ${command}\\b)`, 'iu'));
      t.deepEqual(more, []);
    }
    for (const name of [...keys, ...channels]) {
      const without = (names: string[]) => names.filter((each) => each !== name);
      const found = await lacks(...accessOf({ keys: without(keys), channels: without(channels) }));
      t.is(found.length, 1, name);
      t.true(found[0]?.includes(name), `${name}: ${found[0]}`);
    }
    const [found = ''] = await lacks(...accessOf({ keys: ['parley:doctor:*'], channels }));
    t.regex(found, /; XADD, .*, DEL on keys parley:\*:text-generation:\*, parley:\*:session:\*:events(?:; |$)/u);
    t.is(await admin.sendCommand<number>(['DBSIZE']), 0);
  },
);

/** Runs the operations of the units' engines with a login. */
async function worksWith(t: ExecutionContext, url: string): Promise<void> {
  const connection = redisConnection({ url, log: createLogger('redis', { LOG_LEVEL: 'silent' }) });
  await connection.start();
  const keyValue = redisKeyValue(connection);
  const log = redisEventLog(connection);
  try {
    await connection.ready();
    const entry = { key: 'parley:login-tries:a', requests: 5, windowMs: 60_000, amount: 1 };
    for (let n = 0; n < 2; n += 1) t.true((await keyValue.countAll([entry])).counted);
    await keyValue.giveBack([entry]);
    t.is(await keyValue.get(entry.key), '1');
    t.true(await keyValue.delete(entry.key));
    await keyValue.set('parley:login-lock:a', '1', { ttlMs: 60_000 });
    t.false(await keyValue.setIfAbsent('parley:login-lock:a', '1', { ttlMs: 60_000 }));
    await keyValue.delete('parley:login-lock:a');

    const stream = 'parley:1:session:1:events';
    const tail = await log.tail(stream, { after: '0' }, AbortSignal.timeout(20_000));
    for (const after of ['0', undefined, '99999999999999-0']) {
      await log.append(stream, [Buffer.from('one')], after === undefined ? {} : { after });
    }
    t.true((await log.read(stream, { after: '0' })).entries.length > 0);
    for await (const _ of tail) break;
    await connection.command(['DEL', stream]);
  } finally {
    await Promise.all([log.close(), keyValue.close()]);
    await connection.stop();
  }
}

serverTest(['redis'], 'what a login may not do is named where units need it, and in their readiness', async (t) => {
  const { admin, url } = await openRedis(t);
  const keys = Object.keys(needs.keys);
  const { channels } = needs;
  const stream = 'parley:1:session:1:events';
  // EVAL and UNSUBSCRIBE are not tried, because a login without them is not refused in this test: EVAL is not sent, since the server has
  // cached the scripts, and the connection is closed without UNSUBSCRIBE.
  const named = ['EVALSHA', 'TIME', 'PUBLISH', 'SUBSCRIBE', 'PING', ...commandsOf(needs)];
  for (const command of named) {
    await admin.sendCommand(['ACL', 'SETUSER', 'unit', ...accessOf({ keys, channels }), `-${command.toLowerCase()}`]);
    await admin.sendCommand(['FLUSHALL']);
    const refused = await t.throwsAsync(worksWith(t, url), undefined, command);
    t.regex(refused.message, new RegExp(`lacks a permission: ${command}$`, 'u'));
  }
  // If only a right for appending is missing, readers of a stream are refused at once, too.
  for (const lacks of ['-publish', '-xadd', '-pexpire']) {
    await admin.sendCommand(['ACL', 'SETUSER', 'unit', ...accessOf({ keys, channels }), lacks]);
    const connection = redisConnection({ url, log: createLogger('redis', { LOG_LEVEL: 'silent' }) });
    t.teardown(() => connection.stop());
    await connection.start();
    const { signal } = new AbortController();
    const tail = redisEventLog(connection).tail(stream, { after: '0' }, signal);
    t.regex((await t.throwsAsync(tail)).message, new RegExp(`lacks a permission: ${lacks.slice(1)}$`, 'iu'));
    await t.throwsAsync(connection.ready(), { message: new RegExp(`${lacks.slice(1)}$`, 'iu') });
  }
  t.is(await admin.sendCommand<number>(['EXISTS', stream]), 0);
});

test('the doctor knows the names in Redis that the code has', async (t) => {
  const known = [...Object.keys(needs.keys), ...needs.channels];
  const root = new URL('../../../', import.meta.url);
  const files = glob(['{services,services/chassis}/*/src/**/*.ts', 'gateway/src/**/*.ts'], {
    cwd: root,
    exclude: ['**/*.test.ts', '**/testing/**'],
  });
  const unknown: string[] = [];
  for await (const file of files) {
    const code = readFileSync(new URL(file, root), 'utf8');
    for (const [, name = ''] of code.matchAll(/^[^*]*[`'"](parley:[^`'"]+)/gmu)) {
      // Matches expressions inside template strings, even if the text ends inside one.
      const pattern = new RegExp(`^${name.replaceAll(/\$\{[^}]*\}?/gu, '.+')}$`, 'u');
      if (!known.some((each) => pattern.test(each))) unknown.push(`${file}: ${name}`);
    }
  }
  t.deepEqual(unknown, []);
});
