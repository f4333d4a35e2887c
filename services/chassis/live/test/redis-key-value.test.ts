import { randomUUID } from 'node:crypto';
import { eventually } from '@parley/testing/eventually';
import { keyValueContract } from '@parley/testing/key-value-contract';
import test from 'ava';
import { pino } from 'pino';
import { redisKeyValue } from '../src/key-value/redis-key-value.ts';
import { redisTests, replica, testConnection } from './support/redis.ts';

redisTests('the key-value engine on Redis', () => {
  keyValueContract(test, 'Redis', async () => {
    const connections = [testConnection(), testConnection()];
    await Promise.all(connections.map((each) => each.start()));
    const queue = connections.map(redisKeyValue);
    return {
      async connect() {
        const next = queue.shift();
        if (!next) throw new Error('no third replica was expected');
        return next;
      },
      async close() {
        await Promise.all(connections.map((each) => each.stop()));
      },
    };
  });

  const entry = (key: string, rest: { requests?: number; windowMs?: number; amount?: number } = {}) => ({
    key,
    requests: 100,
    windowMs: 60_000,
    amount: 1,
    ...rest,
  });
  const newKey = () => `parley:test:${randomUUID()}`;

  test('a throttled request is one command, whatever the number of counters', async (t) => {
    const connection = await replica(t);
    const sent: string[] = [];
    const keyValue = redisKeyValue({
      ...connection,
      command(args, options) {
        sent.push(String(args[0]));
        return connection.command(args, options);
      },
      script(script, keys, args) {
        sent.push('script');
        return connection.script(script, keys, args);
      },
    });
    const key = newKey();
    const answer = await keyValue.countAll(Array.from({ length: 50 }, (_, n) => entry(`${key}:${n % 40}`)));
    t.true(answer.counted && answer.windows.length === 50);
    t.is(answer.counted && answer.windows[0]?.count, 2, 'entries of one key add up');
    t.deepEqual(sent, ['script']);
  });

  test('large counts are exact', async (t) => {
    const keyValue = redisKeyValue(await replica(t));
    const key = newKey();
    const half = (Number.MAX_SAFE_INTEGER - 1) / 2;
    const large = entry(key, { requests: Number.MAX_SAFE_INTEGER, amount: half });
    await keyValue.countAll([large]);
    t.like(await keyValue.countAll([large]), { counted: true, windows: [{ count: 2 * half }] });
    t.like(await keyValue.countAll([{ ...large, amount: 2 }]), { counted: false, refused: { count: 2 * half } });
  });

  test('a server that has lost its scripts gets them again', async (t) => {
    const connection = await replica(t);
    const key = newKey();
    const unknown = { text: `return redis.call('SET', KEYS[1], ARGV[1], 'PX', 60000) -- ${key}`, sha: '0'.repeat(40) };
    await connection.script(unknown, [key], ['set']);
    t.is(await redisKeyValue(connection).get(key), 'set');
  });

  test('a key that is not a counter throws, and nothing is counted', async (t) => {
    const keyValue = redisKeyValue(await replica(t));
    const key = newKey();
    await keyValue.set(key, 'text', { ttlMs: 60_000 });
    const error = await t.throwsAsync(keyValue.countAll([entry(`${key}:other`), entry(key)]));
    t.is(error.message, `${key} holds no counter`);
    t.is(await keyValue.get(`${key}:other`), undefined);
  });

  test('a subscriber of Redis that throws is logged, and others get the message', async (t) => {
    const lines: string[] = [];
    const log = pino({ level: 'error' }, { write: (line: string) => lines.push(line) });
    const connection = testConnection({ log });
    t.teardown(() => connection.stop());
    await connection.start();
    const keyValue = redisKeyValue(connection);
    const channel = newKey();
    const received: string[] = [];
    await keyValue.subscribe(channel, () => {
      throw new Error('broken subscriber');
    });
    await keyValue.subscribe(channel, (message) => received.push(message));
    await keyValue.publish(channel, 'hello');
    await eventually('the other has received it', () => received.length === 1);
    t.true(lines.join().includes('broken subscriber'));
  });

  test('a channel can be unsubscribed and subscribed again many times', async (t) => {
    const keyValue = redisKeyValue(await replica(t));
    const channel = newKey();
    for (let n = 0; n < 50; n++) {
      const received: string[] = [];
      const leave = await keyValue.subscribe(channel, (message) => received.push(message));
      await keyValue.publish(channel, `${n}`);
      await eventually('it is received', () => received.length > 0);
      t.deepEqual(received, [`${n}`]);
      void leave();
    }
  });
});
