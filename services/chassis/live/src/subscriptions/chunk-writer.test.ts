import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { chunkWriter } from './chunk-writer.ts';

test('the first chunk is written at once, and later ones of one tick as one', async (t) => {
  const written: string[] = [];
  const chunks = chunkWriter(async (text) => void written.push(text));
  chunks.push('');
  chunks.push('a');
  t.deepEqual(written, ['a']);
  await chunks.flush();
  for (const text of ['b', '', 'c']) chunks.push(text);
  await chunks.flush();
  chunks.push('d');
  await chunks.flush();
  t.deepEqual(written, ['a', 'bc', 'd']);
  t.is(chunks.text, 'abcd');
});

test('chunks pushed during a write are written together after it', async (t) => {
  const gate = createGate();
  const written: string[] = [];
  const chunks = chunkWriter(async (text) => {
    written.push(text);
    await gate.pass();
  });
  chunks.push('a');
  await new Promise((resolve) => setImmediate(resolve));
  chunks.push('b');
  chunks.push('c');
  t.deepEqual(written, ['a']);
  gate.open();
  await chunks.flush();
  t.deepEqual(written, ['a', 'bc']);
});

test('another write is made after the chunks before it, and before those after it', async (t) => {
  const gate = createGate();
  const written: string[] = [];
  const chunks = chunkWriter(async (text) => {
    written.push(text);
    await gate.pass();
  });
  const other = (name: string) => chunks.pushWrite(async () => void written.push(name));
  chunks.push('a');
  for (const text of ['b', 'c']) chunks.push(text);
  other('1');
  other('2');
  for (const text of ['d', 'e']) chunks.push(text);
  t.deepEqual(written, ['a']);
  gate.open();
  await chunks.flush();
  t.deepEqual(written, ['a', 'bc', '1', '2', 'de']);
  other('3');
  t.is(written.at(-1), '3', 'at once');
  await chunks.flush();
  t.is(chunks.text, 'abcde');
});

test('buffering a reply and reading its text takes time linear in its chunks', async (t) => {
  const pieces = Array.from({ length: 16_000 }, (_, index) => `${index} `);
  /** Returns the duration of the shortest of three runs of `work`, the one least disturbed by other processes. */
  async function shortest(work: () => number | Promise<number>) {
    const times = [];
    for (let run = 0; run < 3; run++) {
      const fromMs = performance.now();
      await work();
      times.push(performance.now() - fromMs);
    }
    return Math.min(...times);
  }
  const gathered = await shortest(async () => {
    const chunks = chunkWriter(async () => undefined);
    let empty = 0;
    for (const piece of pieces) {
      if (chunks.text === '') empty += 1;
      chunks.push(piece);
    }
    await chunks.flush();
    t.deepEqual([empty, chunks.text.length], [1, pieces.join('').length]);
    return empty;
  });
  const sorted = await shortest(() => pieces.toSorted().length);
  t.true(gathered < 100 * sorted, `${gathered} ms, to sort them takes ${sorted} ms`);
});
