import { randomUUID } from 'node:crypto';
import { DomainError } from '@parley/kernel/errors';
import { eventLogContract } from '@parley/testing/event-log-contract';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { compareEventIds, type EventId, eventIdParts } from '../src/event-log/event-id.ts';
import type { Entry, EventLog, Tail } from '../src/event-log/event-log.ts';
import { redisEventLog } from '../src/event-log/redis-event-log.ts';
import type { RedisConnection } from '../src/redis/redis-connection.ts';
import type { ChannelListener } from '../src/redis/redis-subscriptions.ts';
import { redisTests, replica, testConnection } from './support/redis.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const text = ({ data }: Entry) => new TextDecoder().decode(data);
const newStream = () => `parley:test:${randomUUID()}`;

redisTests('the event log on Redis', () => {
  eventLogContract(test, 'Redis', async (settings) => {
    const connections = [testConnection(), testConnection()];
    await Promise.all(connections.map((each) => each.start()));
    const queue = connections.map((each) => redisEventLog(each, settings));
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

  test('300 readers of one stream share one subscription, one read and the bytes', async (t) => {
    const connection = await replica(t);
    const reads: string[] = [];
    const counted: RedisConnection = {
      ...connection,
      command: (args, options) => {
        if (args[0] === 'XRANGE' && args.at(-1) === '500') reads.push(String(args[1]));
        return connection.command(args, options);
      },
    };
    const log = redisEventLog(counted);
    const writer = redisEventLog(await replica(t));
    const stream = newStream();
    await writer.append(stream, [bytes('past')], { after: '0' });
    const tails = await Promise.all(Array.from({ length: 300 }, () => tail(t, log, stream, '0')));
    const readings = tails.map((each) => take(each, 101));
    await eventually('the past is read', () => reads.length > 0);
    t.is(await subscribers(connection, stream), 1);
    for (let n = 0; n < 100; n++) await writer.append(stream, [bytes(`${n}`)]);

    const [first = [], ...others] = await Promise.all(readings);
    t.deepEqual(first.map(text), ['past', ...Array.from({ length: 100 }, (_, n) => `${n}`)]);
    for (const taken of others) t.true(taken.length === 101 && taken.every(({ data }, n) => data === first[n]?.data));
    t.true(reads.length <= 202, `${reads.length} reads for 100 appends`);
  });

  test('two replicas that append to one stream agree on its order, and so do their readers', async (t) => {
    const [one, two] = [redisEventLog(await replica(t)), redisEventLog(await replica(t))];
    const stream = newStream();
    const tails = await Promise.all([tail(t, one, stream, '0'), tail(t, two, stream, 'now')]);
    const readings = tails.map((each) => take(each, 400));
    const append = async (log: EventLog, name: string) => {
      let last: EventId = '0';
      for (let n = 0; n < 200; n++) {
        const [id = ''] = await log.append(stream, [bytes(`${name}${n}`)], { after: last });
        t.true(compareEventIds(id, last) > 0);
        last = id;
      }
    };
    await Promise.all([append(one, 'a'), append(two, 'b')]);
    const [seenByOne = [], seenByTwo = []] = await Promise.all(readings);
    const ids = seenByOne.map(({ id }) => id);
    t.deepEqual(
      ids,
      seenByTwo.map(({ id }) => id),
    );
    t.deepEqual(ids.toSorted(compareEventIds), ids);
    t.is(new Set(seenByOne.map(text)).size, 400);
  });

  test('every key has a time to live, and a stream drops older entries', async (t) => {
    const connection = await replica(t);
    const log = redisEventLog(connection, { ttlMs: 30_000 });
    const stream = newStream();
    await log.append(stream, [bytes('a')], { after: '0' });
    const ttlMs = await connection.command<number>(['PTTL', stream]);
    t.true(ttlMs > 20_000 && ttlMs <= 30_000);
    let cursor = '0';
    do {
      const [next, keys] = await connection.command<[string, string[]]>([
        'SCAN',
        cursor,
        'MATCH',
        'parley:*',
        'COUNT',
        '500',
      ]);
      for (const key of keys) t.not(await connection.command<number>(['PTTL', key]), -1, `${key} stays for ever`);
      cursor = next;
    } while (cursor !== '0');
  });

  test('a long stream keeps a bounded number of entries and reports dropped ones', async (t) => {
    const log = redisEventLog(await replica(t), { maxEntries: 200 });
    const stream = newStream();
    const [first = ''] = await log.append(stream, [bytes('first')], { after: '0' });
    for (let n = 0; n < 10; n++)
      await log.append(
        stream,
        Array.from({ length: 100 }, () => bytes('x')),
      );
    const { entries, complete, oldestId } = await log.read(stream, { after: first, limit: 2_000 });
    t.true(entries.length >= 200 && entries.length <= 400, `${entries.length} entries`);
    t.false(complete);
    t.is(oldestId, entries[0]?.id);
    t.true((await log.read(stream, { after: oldestId ?? '' })).complete);
  });

  test('a short entry that follows the last one arrives with its notification; others are read', async (t) => {
    const connection = await replica(t);
    const log = redisEventLog(connection);
    const stream = newStream();
    const [first = ''] = await log.append(stream, [bytes('first')], { after: '0' });
    const batches = batchesOf(await tail(t, log, stream, first));
    const publish = (message: string) => connection.command(['PUBLISH', `${stream}:appended`, message]);
    const { ms } = eventIdParts(first);

    // The messages that other replicas would publish. Only the first one names the reader's newest entry as its predecessor.
    await publish(`${first} ${ms}-900 not in the stream`);
    await publish(`${first} ${ms}-901 after another`);
    await publish(`${ms}-900`);
    const long = 'x'.repeat(10_000);
    await log.append(stream, [bytes('two'), bytes('at once')], { after: `${ms}-900` });
    await eventually('the two are there', () => batches.flat().length === 3);
    await log.append(stream, [bytes(long)]);
    await log.append(stream, [Uint8Array.of(0, 255, 32, 10, 128)]);
    await eventually('all are there', () => batches.flat().length === 5);
    const texts = batches.flat().map(text);
    t.deepEqual(texts.slice(0, 4), ['not in the stream', 'two', 'at once', long]);
    t.deepEqual([...(batches.flat().at(-1)?.data ?? [])], [0, 255, 32, 10, 128]);
  });

  test('nothing is delivered between the loss of the connection and the empty batch after it', async (t) => {
    const connection = await replica(t);
    const listeners: ChannelListener[] = [];
    const reads: PromiseWithResolvers<void>[] = [];
    const observed: RedisConnection = {
      ...connection,
      subscribe: (channel, listener) => {
        listeners.push(listener);
        return connection.subscribe(channel, listener);
      },
      async command<T>(...[args, options]: Parameters<RedisConnection['command']>): Promise<T> {
        const answer = await connection.command<T>(args, options);
        if (args[0] === 'XRANGE' && args.at(-1) === '500') {
          const held = Promise.withResolvers<void>();
          reads.push(held);
          await held.promise;
        }
        return answer;
      },
    };
    const log = redisEventLog(observed);
    const stream = newStream();
    const [first = ''] = await log.append(stream, [bytes('first')], { after: '0' });
    const followed = tail(t, log, stream, 'now');
    const batches = batchesOf(await followed);
    const [listener] = listeners;

    await log.append(stream, [bytes('two'), bytes('at once')]);
    await eventually('they are read', () => reads.length === 1);
    listener?.lost?.();
    // This channel is subscribed again, but other channels are not yet.
    listener?.message(Buffer.from(`${first} ${eventIdParts(first).ms}-900 early`));
    reads[0]?.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    t.deepEqual(batches, []);
    listener?.resumed?.();
    await eventually('they are read again', () => reads.length === 2);
    reads[1]?.resolve();
    await eventually('both are there', () => batches.flat().length === 2);
    t.deepEqual(
      batches.map((entries) => entries.map(text)),
      [[], ['two', 'at once']],
    );
  });

  test('a subscription that is lost before its answer fails its reader only', async (t) => {
    const connection = await replica(t);
    const ended: string[] = [];
    const losing: RedisConnection = {
      ...connection,
      async subscribe(_channel, listener) {
        listener.lost?.();
        await new Promise((resolve) => setTimeout(resolve, 50)); // longer than the allowed outage
        ended.push('refused');
        throw new DomainError('unavailable', 'Redis is unavailable');
      },
    };
    const log = redisEventLog(losing, { outageTimeoutMs: 10 });
    const followed = log.tail(newStream(), { after: 'now' }, new AbortController().signal);
    t.like(await t.throwsAsync(followed), { kind: 'unavailable' });
    t.deepEqual(ended, ['refused']);
  });

  test('a lost stream continues above its earlier ids, and readers get an empty batch', async (t) => {
    const connection = await replica(t);
    const log = redisEventLog(connection);
    const other = redisEventLog(await replica(t));
    const stream = newStream();
    const ahead = `${Date.now() + 60_000}-0`; // as if the clock had since been set back
    const [first = ''] = await log.append(stream, [bytes('first')], { after: ahead });
    const batches = batchesOf(await tail(t, other, stream, '0'));
    await eventually('the first is there', () => batches.length === 1);

    await connection.command(['DEL', stream]);
    const [second = ''] = await log.append(stream, [bytes('second')], { after: '0' });
    t.true(compareEventIds(second, first) > 0);
    await eventually('the second is there', () => batches.length === 3);
    t.deepEqual(
      batches.map((entries) => entries.map(text)),
      [['first'], [], ['second']],
    );
    t.false((await other.read(stream, { after: '0' })).complete);
    t.false((await other.read(stream, { after: first })).complete);
    t.true((await other.read(stream, { after: second })).complete);
  });

  test('a floor above the newest entry gives readers an empty batch', async (t) => {
    const log = redisEventLog(await replica(t));
    const stream = newStream();
    const [first = ''] = await log.append(stream, [bytes('first')], { after: '0' });
    const batches = batchesOf(await tail(t, log, stream, first));
    const beyond = `${eventIdParts(first).ms + 5}-0`;
    await log.append(stream, [bytes('second')], { after: beyond });
    await eventually('the second is there', () => batches.at(-1)?.length === 1);
    t.deepEqual(
      batches.map((entries) => entries.map(text)),
      [[], ['second']],
    );
  });

  test('the process unsubscribes after its last reader, and subscribes again for the next', async (t) => {
    const connection = await replica(t);
    const log = redisEventLog(connection);
    const stream = newStream();
    for (let round = 0; round < 3; round++) {
      const over = new AbortController();
      const tails = await Promise.all([1, 2, 3].map(() => log.tail(stream, { after: 'now' }, over.signal)));
      t.is(await subscribers(connection, stream), 1);
      const readings = tails.map((each) => take(each, 1));
      await log.append(stream, [bytes(`${round}`)]);
      for (const [entry] of await Promise.all(readings)) t.is(entry && text(entry), `${round}`);
      over.abort();
      await eventually('no subscription is left', async () => (await subscribers(connection, stream)) === 0);
    }
  });
});

async function subscribers(connection: RedisConnection, stream: string): Promise<number> {
  const counts = await connection.command<[string, number]>(['PUBSUB', 'NUMSUB', `${stream}:appended`]);
  return counts[1];
}

/** Tails the stream until the end of the test. */
function tail(t: ExecutionContext, log: EventLog, stream: string, after: string): Promise<Tail> {
  const over = new AbortController();
  t.teardown(() => over.abort());
  return log.tail(stream, { after }, over.signal);
}

/** Returns a list that grows as batches arrive. */
function batchesOf(followed: Tail): Entry[][] {
  const batches: Entry[][] = [];
  void (async () => {
    for await (const entries of followed) batches.push(entries);
  })();
  return batches;
}

async function take(followed: AsyncIterable<Entry[]>, count: number): Promise<Entry[]> {
  const taken: Entry[] = [];
  for await (const entries of followed) {
    taken.push(...entries);
    if (taken.length >= count) break;
  }
  return taken;
}
