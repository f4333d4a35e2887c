import { randomUUID } from 'node:crypto';
import { databaseProxy } from '@parley/testing/database-proxy';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { compareEventIds } from '../src/event-log/event-id.ts';
import type { Entry, EventLog } from '../src/event-log/event-log.ts';
import { type RedisEventLogOptions, redisEventLog } from '../src/event-log/redis-event-log.ts';
import { redisKeyValue } from '../src/key-value/redis-key-value.ts';
import { redisTests, redisUrl, replica } from './support/redis.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const text = ({ data }: Entry) => new TextDecoder().decode(data);
const newKey = () => `parley:test:${randomUUID()}`;

redisTests('in an outage of Redis', () => {
  test('every call is unavailable in an outage, and works after it', async (t) => {
    const { line, connection, keyValue, log } = await overLine(t);
    const key = newKey();
    await keyValue.set(key, 'before', { ttlMs: 60_000 });
    await line.cut();
    const entry = { key: `${key}:count`, requests: 1, windowMs: 60_000, amount: 1 };
    const unabortedSignal = new AbortController().signal;
    const calls: (() => Promise<unknown>)[] = [
      () => keyValue.get(key),
      () => keyValue.set(key, 'during', { ttlMs: 60_000 }),
      () => keyValue.setIfAbsent(key, 'during', { ttlMs: 60_000 }),
      () => keyValue.delete(key),
      () => keyValue.countAll([entry]),
      () => keyValue.publish(key, 'during'),
      () => keyValue.subscribe(key, () => undefined),
      () => keyValue.ping(),
      () => log.append(key, [bytes('a')]),
      () => log.read(key, { after: '0' }),
      () => log.tail(key, { after: 'now' }, unabortedSignal),
      () => log.ping(),
      () => connection.ready(),
    ];
    for (const call of calls) t.like(await t.throwsAsync(call), { kind: 'unavailable' });

    await line.restore();
    await eventually('it is back', () =>
      keyValue.ping().then(
        () => true,
        () => false,
      ),
    );
    t.is(await keyValue.get(key), 'before');
    t.true((await keyValue.countAll([entry])).counted);
  });

  test('a silent connection is replaced, and each call has waited no longer than its timeout', async (t) => {
    const timeoutMs = 1_000;
    const { line, keyValue } = await overLine(t, { timeoutMs });
    const key = newKey();
    await keyValue.set(key, 'before', { ttlMs: 60_000 });
    line.hold();
    const start = performance.now();
    const calls = Array.from({ length: 20 }, () => keyValue.get(key));
    for (const call of calls) t.like(await t.throwsAsync(call), { kind: 'unavailable' });
    const tookMs = performance.now() - start;
    // The time would be 20 times as long if each call waited for the previous one.
    t.true(tookMs >= 0.9 * timeoutMs && tookMs < 10 * timeoutMs, `${tookMs} ms`);

    const before = performance.now();
    t.like(await t.throwsAsync(keyValue.get(key)), { kind: 'unavailable' });
    t.true(performance.now() - before < timeoutMs, 'nobody waits for what is known to be silent');
    await eventually('another connection is there', () =>
      keyValue.get(key).then(
        (value) => value === 'before',
        () => false,
      ),
    );
  });

  test('a process may start before its Redis', async (t) => {
    const line = await databaseProxy(redisUrl);
    t.teardown(() => line.close());
    await line.cut();
    const starting = replica(t, { url: line.url });
    await line.restore();
    const keyValue = redisKeyValue(await starting);
    await keyValue.ping();
    t.pass();
  });

  test('subscriptions are restored with the connection', async (t) => {
    const { line, keyValue } = await overLine(t);
    const other = redisKeyValue(await replica(t));
    const channels = Array.from({ length: 20 }, newKey);
    const received = new Set<string>();
    for (const channel of channels) await keyValue.subscribe(channel, (message) => received.add(message));
    const left = newKey();
    const leave = await keyValue.subscribe(left, () => t.fail('left while Redis was away'));
    await line.cut();
    await leave();
    await line.restore();
    await eventually('it is back', () =>
      keyValue.ping().then(
        () => true,
        () => false,
      ),
    );
    await other.publish(left, 'nobody');
    for (const channel of channels) await other.publish(channel, channel);
    await eventually('all is received', () => received.size === channels.length);
    t.deepEqual([...received].sort(), channels.toSorted());
  });

  test('a reader misses no entry in an outage, and gets an empty batch after it', async (t) => {
    const { line, log } = await overLine(t);
    const other = redisEventLog(await replica(t));
    const stream = newKey();
    const total = 400;
    const newest = new Map<EventLog, string>();
    const follow = async (from: EventLog) => {
      const seen: Entry[] = [];
      let interruptions = 0;
      for await (const entries of await from.tail(stream, { after: '0' }, AbortSignal.timeout(60_000))) {
        seen.push(...entries);
        newest.set(from, seen.at(-1)?.id ?? '0');
        if (entries.length === 0) interruptions++;
        if (seen.length >= total) break;
      }
      return { seen, interruptions };
    };
    const followers = [follow(log), follow(log), follow(other)];
    let last = '0';
    for (let n = 0; n < total; n++) {
      if (n % 150 === 100) {
        await eventually('it is followed so far', () => newest.get(log) === last);
        await line.cut();
      }
      if (n % 150 === 149) await line.restore();
      [last = ''] = await other.append(stream, [bytes(`${n}`)], { after: last });
    }
    const expected = Array.from({ length: total }, (_, n) => `${n}`);
    for (const { seen } of await Promise.all(followers)) {
      t.deepEqual(seen.map(text), expected);
      const ids = seen.map(({ id }) => id);
      t.deepEqual(ids.toSorted(compareEventIds), ids);
    }
    t.true((await followers[0])?.interruptions !== 0);
    t.is((await followers[2])?.interruptions, 0);
  });

  test('a reader gets an error in a long outage', async (t) => {
    const { line, log } = await overLine(t, { timeoutMs: 3_000 }, { outageTimeoutMs: 300 });
    const stream = newKey();
    const tails = await Promise.all([1, 2].map(() => log.tail(stream, { after: 'now' }, new AbortController().signal)));
    const ends = tails.map(async (tail) => {
      for await (const _ of tail);
    });
    await line.cut();
    for (const end of ends) t.like(await t.throwsAsync(end), { kind: 'unavailable' });
    await line.restore();
    await eventually('it is back', () =>
      log.ping().then(
        () => true,
        () => false,
      ),
    );
    const again = await log.tail(stream, { after: 'now' }, AbortSignal.timeout(20_000));
    await log.append(stream, [bytes('again')]);
    for await (const [entry] of again) {
      t.is(entry && text(entry), 'again');
      break;
    }
  });
});

/** Engines whose connection to Redis can be cut. */
async function overLine(
  t: ExecutionContext,
  options: { timeoutMs?: number } = {},
  logOptions: RedisEventLogOptions = {},
) {
  const line = await databaseProxy(redisUrl);
  t.teardown(() => line.close());
  const connection = await replica(t, { url: line.url, ...options });
  return { line, connection, keyValue: redisKeyValue(connection), log: redisEventLog(connection, logOptions) };
}
