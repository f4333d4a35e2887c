import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventLogContract } from '@parley/testing/event-log-contract';
import test, { type ExecutionContext } from 'ava';
import { compareEventIds, parseEventId } from '../src/event-log/event-id.ts';
import { memoryEventLog } from '../src/event-log/memory-event-log.ts';

eventLogContract(test, 'memory', async (settings) => {
  const log = memoryEventLog(settings);
  return { connect: async () => log, close: () => log.close() };
});

const bytes = (text: string) => new TextEncoder().encode(text);
const unabortedSignal = () => new AbortController().signal;

async function highWaterFile(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-event-log-'));
  t.teardown(() => rm(folder, { recursive: true }));
  return join(folder, 'event-ids');
}

test('ids grow when the process restarts with an earlier clock', async (t) => {
  const file = await highWaterFile(t);
  let nowMs = 1_000_000;
  let last = '0';
  for (let start = 0; start < 5; start++) {
    const log = memoryEventLog({ highWaterFile: file, now: () => nowMs });
    for (let n = 0; n < 50; n++) {
      const [id = ''] = await log.append('parley:a', [bytes('a')]);
      t.true(compareEventIds(id, last) > 0, `${id} after ${last}`);
      last = id;
      nowMs += n % 3 ? 700 : -300;
    }
    nowMs -= 40_000;
  }
});

test('ids grow when the clock steps back', async (t) => {
  let nowMs = 5_000;
  const log = memoryEventLog({ now: () => nowMs });
  const [before = ''] = await log.append('parley:a', [bytes('a')]);
  nowMs = 1_000;
  const [after = ''] = await log.append('parley:a', [bytes('b')]);
  t.deepEqual([before, after], ['5000-0', '5000-1']);
});

test('a stream that was deleted and is used again does not repeat ids, whatever the clock', async (t) => {
  let nowMs = 10_000;
  const log = memoryEventLog({ now: () => nowMs, ttlMs: 1_000 });
  const [old = ''] = await log.append('parley:a', [bytes('a')]);
  nowMs = 12_000;
  for (let n = 0; n < 10; n++) await log.append(`parley:other:${n}`, [bytes('b')]);
  nowMs = 9_000;
  const [next = ''] = await log.append('parley:a', [bytes('c')]);
  t.true(compareEventIds(next, old) > 0);
});

test('the file is written ten seconds ahead, and not again before that', async (t) => {
  const file = await highWaterFile(t);
  let nowMs = 1_000_000;
  const log = memoryEventLog({ highWaterFile: file, now: () => nowMs });
  await log.append('parley:a', [bytes('a')]);
  t.is(await readFile(file, 'utf8'), '1010000\n');
  nowMs += 9_999;
  await log.append('parley:a', [bytes('b')]);
  t.is(await readFile(file, 'utf8'), '1010000\n');
  nowMs += 1;
  await log.append('parley:a', [bytes('c')]);
  t.is(await readFile(file, 'utf8'), '1020000\n');
});

test('a file with other content fails the start by name', async (t) => {
  const file = await highWaterFile(t);
  await writeFile(file, 'hello');
  t.true(t.throws(() => memoryEventLog({ highWaterFile: file })).message.startsWith(file));
});

test('after a restart the log reports that it is not complete, until the caller has caught up', async (t) => {
  const file = await highWaterFile(t);
  const [old = ''] = await memoryEventLog({ highWaterFile: file }).append('parley:a', [bytes('a')], { after: '0' });

  const log = memoryEventLog({ highWaterFile: file });
  t.false((await log.read('parley:a', { after: old })).complete);
  t.false((await log.tail('parley:a', { after: old }, AbortSignal.abort())).complete);
  const [next = ''] = await log.append('parley:a', [bytes('b')], { after: old });
  t.like(await log.read('parley:a', { after: old }), { complete: false, oldestId: next });
  t.true((await log.read('parley:a', { after: next })).complete);
});

test('a waiting reader gets an append as one batch in the same turn of the event loop', async (t) => {
  const log = memoryEventLog();
  const tail = await log.tail('parley:a', { after: 'now' }, unabortedSignal());
  let arrived = 0;
  const reading = (async () => {
    for await (const entries of tail) {
      arrived = entries.length;
      break;
    }
  })();
  await new Promise(setImmediate);
  void log.append('parley:a', [bytes('a')]);
  void log.append('parley:a', [bytes('b')]);
  await Promise.race([reading, new Promise(setImmediate)]);
  t.is(arrived, 2);
});

test('readers share the bytes of an entry', async (t) => {
  const log = memoryEventLog();
  const data = bytes('shared');
  await log.append('parley:a', [data]);
  for (let n = 0; n < 3; n++) {
    for await (const [entry] of await log.tail('parley:a', { after: '0' }, unabortedSignal())) {
      t.is(entry?.data, data);
      break;
    }
  }
});

test('a stream keeps a bounded number of entries and reports dropped ones', async (t) => {
  const log = memoryEventLog({ maxEntries: 100 });
  await log.append('parley:a', [bytes('first')], { after: '0' });
  const slow = await log.tail('parley:a', { after: '0' }, unabortedSignal());
  for (let n = 0; n < 1_000; n++) await log.append('parley:a', [bytes(`${n}`)]);
  const { entries, complete } = await log.read('parley:a', { after: '0' });
  t.true(entries.length >= 90 && entries.length <= 100, `${entries.length} entries`);
  t.is(new TextDecoder().decode(entries.at(-1)?.data), '999');
  t.false(complete);
  t.like(await t.throwsAsync(async () => void (await slow[Symbol.asyncIterator]().next())), { reason: 'SLOW_READER' });
});

test('all streams together keep a bounded number of bytes; the oldest entries are dropped and reported', async (t) => {
  const log = memoryEventLog({ maxBytes: 1_000_000 });
  const kept = async () => {
    const excerpts = await Promise.all(streams.map((stream) => log.read(stream, { after: '0', limit: 100_000 })));
    return excerpts.map(({ entries, complete }) => ({ entries, complete }));
  };
  const streams = Array.from({ length: 50 }, (_, n) => `parley:${n}`);
  const ids: string[] = [];
  for (let n = 0; n < 40; n++) {
    for (const stream of streams) ids.push(...(await log.append(stream, [new Uint8Array(1_000)], { after: '0' })));
  }
  const held = (await kept()).flatMap(({ entries }) => entries.map(({ id }) => id));
  t.true(held.length < 1_000 && held.length > 400, `${held.length} entries of 1,000 bytes`);
  t.deepEqual(held.toSorted(compareEventIds), ids.slice(-held.length), 'the newest of all streams');
  t.true((await kept()).every(({ complete }) => !complete));
  t.true((await log.read('parley:0', { after: held[0] ?? '' })).complete);
});

test('short entries drop none of other streams, and one larger than the budget is kept alone', async (t) => {
  const log = memoryEventLog({ maxBytes: 100_000 });
  for (const stream of ['parley:a', 'parley:b']) await log.append(stream, [bytes('short')], { after: '0' });
  t.true((await log.read('parley:a', { after: '0' })).complete);
  await log.append('parley:b', [new Uint8Array(200_000)]);
  t.like(await log.read('parley:a', { after: '0' }), { complete: false, entries: { length: 0 } });
  t.like(await log.read('parley:b', { after: '0' }), { complete: false, entries: { length: 1 } });
});

test('a reader behind dropped entries gets an error, and can go on after them', async (t) => {
  const log = memoryEventLog({ maxBytes: 10_000 });
  const slow = await log.tail('parley:a', { after: 'now' }, unabortedSignal());
  const [unread = ''] = await log.append('parley:a', [bytes('unread')]);
  for (let n = 0; n < 20; n++) await log.append('parley:b', [bytes('busy')]);
  t.like(await t.throwsAsync(async () => void (await slow[Symbol.asyncIterator]().next())), { reason: 'SLOW_READER' });
  t.false((await log.read('parley:a', { after: '0' })).complete);
  t.true((await log.read('parley:a', { after: unread })).complete);
});

test('an id is <ms>-<n>, or 0 for the beginning', (t) => {
  t.is(parseEventId('1700000000000-3'), '1700000000000-3');
  t.is(parseEventId('0'), '0-0');
  t.is(parseEventId('0-0'), '0-0');
  const malformed = [
    '',
    '1',
    '-1',
    '1-',
    '-',
    'now',
    '$',
    '01-0',
    '1-00',
    '1.0-0',
    ' 1-0',
    '1-0\n',
    '1-0-0',
    '9007199254740993-0',
    '1'.repeat(99),
  ];
  for (const text of malformed) t.is(parseEventId(text), undefined, text);
  t.deepEqual(['10-0', '9-11', '9-2', '0'].toSorted(compareEventIds), ['0', '9-2', '9-11', '10-0']);
});
