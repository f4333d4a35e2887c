import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { inBatches, inBatchesOfKey } from './in-batches.ts';

test('items that arrive during a batch go into the next one, up to its size, and each gets its own result', async (t) => {
  const gate = createGate();
  const batches: number[][] = [];
  const ask = inBatches({ name: 'many', atOnce: 1, size: 3 }, async (items: number[]) => {
    batches.push(items);
    await gate.pass();
    return items.map((item) => item * 10);
  });
  const all = [1, 2, 3, 4, 5].map(ask);
  gate.open();
  t.deepEqual(await Promise.all(all), [10, 20, 30, 40, 50]);
  t.deepEqual(batches, [[1], [2, 3, 4], [5]]);
});

test('a batch takes items round robin between parties, so that no party waits for all items of another', async (t) => {
  const gate = createGate();
  const batches: string[][] = [];
  const limits = { name: 'many', atOnce: 1, size: 3, partyOf: ([party = '']: string) => party };
  const ask = inBatches(limits, async (items: string[]) => {
    batches.push(items);
    await gate.pass();
    return items;
  });
  const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'c1', 'b2'];
  const answers = all.map(ask);
  gate.open();
  t.deepEqual(await Promise.all(answers), all);
  t.deepEqual(batches, [['a1'], ['a2', 'b1', 'c1'], ['a3', 'b2', 'a4'], ['a5']]);
});

test('several batches are under way at once, so that a slow one holds up only its own', async (t) => {
  const slow = createGate();
  const ask = inBatches({ name: 'many', atOnce: 2, size: 10 }, async (items: string[]) => {
    if (items.includes('slow')) await slow.pass();
    return items;
  });
  const held = ask('slow');
  t.is(await ask('a'), 'a');
  t.is(await ask('b'), 'b');
  slow.open();
  t.is(await held, 'slow');
});

test('a failed batch fails all of its items, and the next one is served', async (t) => {
  const ask = inBatches({ name: 'many', atOnce: 1, size: 2 }, async (items: string[]) => {
    if (items.includes('bad')) throw new Error('no');
    return items;
  });
  const outcomes = await Promise.allSettled(['a', 'bad', 'b', 'c'].map(ask));
  t.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
  );
});

test('batches of different keys are separate: none waits for another key, and a failure affects only its key', async (t) => {
  const slow = createGate();
  const batches: string[] = [];
  const limits = { name: 'many of a key', atOnce: 1, size: 2 };
  const ask = inBatchesOfKey(limits, async (key: string, items: number[]) => {
    batches.push(`${key} ${items.join(' ')}`);
    if (key === 'slow') await slow.pass();
    if (key === 'bad') throw new Error('no');
    return items.map((item) => `${key} ${item}`);
  });
  const held = [1, 2, 3, 4].map((item) => ask('slow', item));
  t.is(await ask('a', 1), 'a 1');
  await t.throwsAsync(ask('bad', 1), { message: 'no' });
  t.is(await ask('a', 2), 'a 2');
  slow.open();
  t.deepEqual(await Promise.all(held), ['slow 1', 'slow 2', 'slow 3', 'slow 4']);
  t.deepEqual(batches, ['slow 1', 'a 1', 'bad 1', 'a 2', 'slow 2 3', 'slow 4']);
});
