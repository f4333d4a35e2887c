import { randomUUID } from 'node:crypto';
import { compareEventIds, type EventId, eventIdParts, parseEventId } from '@parley/live/event-log/event-id';
import { type Entry, type EventLog, SlowReader } from '@parley/live/event-log/event-log';
import type { ExecutionContext, TestFn } from 'ava';
import { eventually } from './eventually.ts';

/** A log for the tests. Other tests may use it too, because each test has its own stream. */
export interface EventLogHarness {
  /** Opens a connection, as another replica would. */
  connect(): Promise<EventLog>;
  /** Ends the log and all its connections. */
  close(): Promise<void>;
}

export interface EventLogSettings {
  /** How long entries are kept. Default: the engine's own default. */
  ttlMs?: number;
}

const bytes = (text: string) => new TextEncoder().encode(text);
const texts = (entries: Entry[]) => entries.map(({ data }) => new TextDecoder().decode(data));
const unabortedSignal = () => new AbortController().signal;

/** The contract of every event log, tested on the logs that `make` returns. */
export function eventLogContract(
  test: TestFn,
  name: string,
  make: (settings: EventLogSettings) => Promise<EventLogHarness>,
): void {
  async function setup(t: ExecutionContext, settings: EventLogSettings = {}) {
    const harness = await make(settings);
    t.teardown(() => harness.close());
    return { log: await harness.connect(), other: await harness.connect(), stream: `parley:test:${randomUUID()}` };
  }

  test(`${name}: entries are read in the order of their ids, after an id and up to a limit`, async (t) => {
    const { log, other, stream } = await setup(t);
    const ids = [
      ...(await log.append(stream, [bytes('a'), bytes('b')])),
      ...(await other.append(stream, [bytes('c')])),
      ...(await log.append(stream, [])),
      ...(await log.append(stream, [bytes('d')])),
    ];
    t.is(new Set(ids).size, 4);
    t.true(ids.every((id) => parseEventId(id) === id));
    t.deepEqual(ids.toSorted(compareEventIds), ids);

    const all = await other.read(stream, { after: '0' });
    t.deepEqual(texts(all.entries), ['a', 'b', 'c', 'd']);
    t.deepEqual(
      all.entries.map(({ id }) => id),
      ids,
    );
    t.is(all.oldestId, ids[0]);
    t.deepEqual(texts((await log.read(stream, { after: ids[1] ?? '', limit: 1 })).entries), ['c']);
    t.deepEqual((await log.read(stream, { after: ids[3] ?? '' })).entries, []);
    await t.throwsAsync(log.read(stream, { after: 'yesterday' }), { instanceOf: RangeError });
    await t.throwsAsync(log.append('stream', [bytes('a')]), { instanceOf: RangeError });
  });

  test(`${name}: any bytes are stored unchanged`, async (t) => {
    const { log, stream } = await setup(t);
    const data = [new Uint8Array(), Uint8Array.from({ length: 256 }, (_, n) => n), new Uint8Array(300_000).fill(7)];
    await log.append(stream, data);
    const { entries } = await log.read(stream, { after: '0' });
    t.deepEqual(
      entries.map((entry) => Buffer.from(entry.data)),
      data.map((one) => Buffer.from(one)),
    );
  });

  test(`${name}: ids of concurrent writers are unique and increase`, async (t) => {
    const { log, other, stream } = await setup(t);
    const appends = Array.from({ length: 200 }, (_, n) =>
      (n % 2 ? log : other).append(stream, [bytes(`${n}.0`), bytes(`${n}.1`)]),
    );
    const given = (await Promise.all(appends)).flat();
    const { entries } = await log.read(stream, { after: '0' });
    const ids = entries.map(({ id }) => id);
    t.is(new Set(given).size, 400);
    t.deepEqual(given.toSorted(compareEventIds), ids);
    t.deepEqual(ids.toSorted(compareEventIds), ids);
  });

  test(`${name}: ids stay above the newest one in the caller's database`, async (t) => {
    const { log, stream } = await setup(t);
    const ahead = `${Date.now() + 3_600_000}-7`;
    const [first = ''] = await log.append(stream, [bytes('a')], { after: ahead });
    const [second = ''] = await log.append(stream, [bytes('b')]);
    t.true(compareEventIds(first, ahead) > 0);
    t.true(compareEventIds(second, first) > 0);
  });

  test(`${name}: the log says whether it is complete after an id`, async (t) => {
    const { log, other, stream } = await setup(t);
    t.like(await log.read(stream, { after: '0' }), { complete: false, oldestId: undefined, entries: [] });

    const [first = ''] = await log.append(stream, [bytes('a')], { after: '0' });
    t.true((await other.read(stream, { after: '0' })).complete, 'a new stream is whole from its beginning');
    t.true((await log.read(stream, { after: first })).complete);

    const old = `${stream}:old`;
    const known = `${Date.now() - 10_000}-0`;
    const [again = ''] = await log.append(old, [bytes('b')], { after: known });
    t.false((await log.read(old, { after: '0' })).complete);
    t.false((await log.read(old, { after: `${Date.now() - 20_000}-0` })).complete);
    t.true((await other.read(old, { after: again })).complete);

    const unsure = `${stream}:unsure`;
    await log.append(unsure, [bytes('c')]);
    t.false((await log.read(unsure, { after: '0' })).complete, 'without a floor nothing is known of what was before');
  });

  test(`${name}: a log that misses entries of the database drops those before the gap`, async (t) => {
    const { log, stream } = await setup(t);
    const [first = ''] = await log.append(stream, [bytes('a')], { after: '0' });
    const known = `${eventIdParts(first).ms + 60_000}-0`;
    const [next = ''] = await log.append(stream, [bytes('b')], { after: known });
    t.like(await log.read(stream, { after: first }), { complete: false, oldestId: next });
    t.true((await log.read(stream, { after: next })).complete);
  });

  test(`${name}: entries expire, the log says so, and later ids stay above the old ones`, async (t) => {
    const { log, stream } = await setup(t, { ttlMs: 80 });
    const [old = ''] = await log.append(stream, [bytes('a'), bytes('b')], { after: '0' });
    await eventually('the entries are forgotten', async () => {
      const { entries, complete } = await log.read(stream, { after: '0' });
      return entries.length === 0 && !complete;
    });
    t.false((await log.read(stream, { after: old })).complete, 'what came after it is gone');
    const [next = ''] = await log.append(stream, [bytes('c')], { after: old });
    t.true(compareEventIds(next, old) > 0);
    t.false((await log.read(stream, { after: '0' })).complete);
  });

  test(`${name}: every reader gets stored and new entries, each once and in order`, async (t) => {
    const { log, other, stream } = await setup(t);
    const total = 600;
    const ids: EventId[] = [];
    const readers: Promise<Entry[]>[] = [];
    for (let n = 0; n < total; n += 3) {
      ids.push(
        ...(await log.append(stream, [bytes(`${n}`), bytes(`${n + 1}`), bytes(`${n + 2}`)], {
          after: ids.at(-1) ?? '0',
        })),
      );
      if (n % 15 === 0) readers.push(collect(n % 2 ? log : other, stream, '0', total));
      if (n % 15 === 3) readers.push(collect(other, stream, ids[5] ?? '', total - 6));
    }
    for (const entries of await Promise.all(readers)) {
      t.deepEqual(
        entries.map(({ id }) => id),
        ids.slice(total - entries.length),
      );
    }
    t.is(readers.length, 80);
  });

  test(`${name}: with "now" a reader gets later entries only`, async (t) => {
    const { log, other, stream } = await setup(t);
    await log.append(stream, [bytes('before')]);
    const tail = await log.tail(stream, { after: 'now' }, unabortedSignal());
    t.true(tail.complete);
    await other.append(stream, [bytes('first')]);
    await log.append(stream, [bytes('second')]);
    t.deepEqual(texts(await take(tail, 2)), ['first', 'second']);
  });

  test(`${name}: a stream may be followed before it exists`, async (t) => {
    const { log, other, stream } = await setup(t);
    const tail = await log.tail(stream, { after: '0' }, unabortedSignal());
    t.like(tail, { complete: false, oldestId: undefined });
    const taken = take(tail, 2);
    await other.append(stream, [bytes('first')]);
    await other.append(stream, [bytes('second')]);
    t.deepEqual(texts(await taken), ['first', 'second']);
  });

  test(`${name}: a reader after a future id gets nothing up to it`, async (t) => {
    const { log, stream } = await setup(t);
    const [first = ''] = await log.append(stream, [bytes('a')]);
    const ahead = `${eventIdParts(first).ms + 1_000}-0`;
    const reading = take(await log.tail(stream, { after: ahead }, unabortedSignal()), 1);
    const beyond = await eventually('ids have passed that one', async () => {
      const [id = ''] = await log.append(stream, [bytes('b')]);
      return compareEventIds(id, ahead) > 0 && id;
    });
    t.is((await reading)[0]?.id, beyond);
  });

  test(`${name}: following ends without an error when its signal aborts`, async (t) => {
    const { log, stream } = await setup(t);
    const abort = new AbortController();
    const tail = await log.tail(stream, { after: 'now' }, abort.signal);
    const seen: string[] = [];
    const ended = (async () => {
      for await (const entries of tail) seen.push(...texts(entries));
    })();
    await log.append(stream, [bytes('a')]);
    await eventually('the entry is seen', () => seen.length === 1);
    abort.abort();
    await ended;
    t.deepEqual(seen, ['a']);

    for await (const _ of await log.tail(stream, { after: '0' }, AbortSignal.abort()))
      t.fail('aborted before it began');
  });

  test(`${name}: a reader that falls too far behind gets an error`, async (t) => {
    const { log, other, stream } = await setup(t);
    const tail = await log.tail(stream, { after: 'now', maxBehind: 20 }, unabortedSignal());
    const ids: EventId[] = [];
    for (let n = 0; n < 100; n++) ids.push(...(await other.append(stream, [bytes('x')])));
    const seen: EventId[] = [];
    const error = await t.throwsAsync(async () => {
      for await (const entries of tail) seen.push(...entries.map(({ id }) => id));
    });
    t.true(error instanceof SlowReader);
    t.like(error, { kind: 'unavailable', reason: 'SLOW_READER' });
    t.deepEqual(seen, ids.slice(0, seen.length), 'what it got before is whole');
  });

  test(`${name}: a long backlog does not count as falling behind`, async (t) => {
    const { log, stream } = await setup(t);
    await log.append(
      stream,
      Array.from({ length: 2_000 }, (_, n) => bytes(`${n}`)),
    );
    const entries = await take(await log.tail(stream, { after: '0', maxBehind: 20 }, unabortedSignal()), 2_000);
    t.deepEqual(
      texts(entries),
      Array.from({ length: 2_000 }, (_, n) => `${n}`),
    );
  });

  test(`${name}: a closed connection is unavailable, for followers too`, async (t) => {
    const { log, stream } = await setup(t);
    await log.ping();
    const following = take(await log.tail(stream, { after: 'now' }, unabortedSignal()), 1);
    await log.close();
    t.like(await t.throwsAsync(following), { kind: 'unavailable' });
    for (const call of [
      () => log.ping(),
      () => log.append(stream, [bytes('a')]),
      () => log.read(stream, { after: '0' }),
    ]) {
      t.like(await t.throwsAsync(call), { kind: 'unavailable' });
    }
  });
}

/** Returns the next `count` entries of a tail. */
async function take(tail: AsyncIterable<Entry[]>, count: number): Promise<Entry[]> {
  const taken: Entry[] = [];
  for await (const entries of tail) {
    taken.push(...entries);
    if (taken.length >= count) break;
  }
  return taken;
}

async function collect(log: EventLog, stream: string, after: EventId, count: number): Promise<Entry[]> {
  return take(await log.tail(stream, { after }, unabortedSignal()), count);
}
