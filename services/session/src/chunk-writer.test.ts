import { createGate } from '@parley/chassis/testing/gate';
import test from 'ava';
import { chunkWriter } from './chunk-writer.ts';

test('what is pushed in one tick leaves as one piece', async (t) => {
  const written: string[] = [];
  const chunks = chunkWriter(async (text) => void written.push(text));
  for (const text of ['a', '', 'b', 'c']) chunks.push(text);
  await chunks.flush();
  chunks.push('d');
  await chunks.flush();
  t.deepEqual(written, ['abc', 'd']);
  t.is(chunks.text, 'abcd');
});

test('what comes while a piece is written waits for it and leaves together', async (t) => {
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
