import { eventually } from '@parley/testing/eventually';
import { keyValueContract } from '@parley/testing/key-value-contract';
import test from 'ava';
import { pino } from 'pino';
import { memoryKeyValue } from '../src/key-value/memory-key-value.ts';

keyValueContract(test, 'memory', async () => {
  const keyValue = memoryKeyValue();
  return { connect: async () => keyValue, close: () => keyValue.close() };
});

test('a value and a window expire exactly at their time', async (t) => {
  let nowMs = 1_000;
  const keyValue = memoryKeyValue({ now: () => nowMs });
  const entry = { key: 'parley:count', requests: 1, windowMs: 60_000, amount: 1 };
  await keyValue.set('parley:value', 'here', { ttlMs: 500 });
  await keyValue.countAll([entry]);

  nowMs = 1_499;
  t.is(await keyValue.get('parley:value'), 'here');
  t.like(await keyValue.countAll([entry]), { counted: false, refused: { endsInMs: 59_501 } });
  nowMs = 1_500;
  t.is(await keyValue.get('parley:value'), undefined);
  nowMs = 60_999;
  t.like(await keyValue.countAll([entry]), { counted: false, refused: { endsInMs: 1 } });
  nowMs = 61_000;
  t.like(await keyValue.countAll([entry]), { counted: true, windows: [{ count: 1, endsInMs: 60_000 }] });
});

test('a refusal ends in whole milliseconds, and not after its window', async (t) => {
  let nowMs = 65_000.1; // the times soon exceed 2^16, above which a double has one fraction bit less
  const keyValue = memoryKeyValue({ now: () => nowMs });
  const entry = { key: 'parley:count', requests: 1, windowMs: 5_000, amount: 2 };
  const ends = new Set<number>();
  for (let n = 0; n < 1_000; n++) {
    nowMs += 0.137;
    const answer = await keyValue.countAll([entry]);
    if (!answer.counted) ends.add(answer.refused.endsInMs);
  }
  t.deepEqual([...ends], [5_000]);
});

test('expired keys are removed from memory without being read', async (t) => {
  let nowMs = 0;
  const keyValue = memoryKeyValue({ now: () => nowMs });
  for (let n = 0; n < 100_000; n++) {
    nowMs += 1;
    await keyValue.countAll([{ key: `parley:ip:${n}`, requests: 1, windowMs: 1_000, amount: 1 }]);
    if (keyValue.size > 2_100) t.fail(`${keyValue.size} keys, and 1,000 of them are live`);
  }
  t.true(keyValue.size >= 1_000);
});

test('a subscriber that throws is logged, and others get the message', async (t) => {
  const lines: string[] = [];
  const keyValue = memoryKeyValue({ log: pino({ level: 'error' }, { write: (line: string) => lines.push(line) }) });
  const received: string[] = [];
  await keyValue.subscribe('parley:news', () => {
    throw new Error('broken subscriber');
  });
  await keyValue.subscribe('parley:news', (message) => received.push(message));
  await keyValue.publish('parley:news', 'hello');
  await eventually('the other has received it', () => received.length === 1);
  t.true(lines.join().includes('broken subscriber'));
});
