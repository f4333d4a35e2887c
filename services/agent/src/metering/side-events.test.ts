import test from 'ava';
import { sideEvents } from './side-events.ts';

test('pushed events are yielded between the stream’s events, even while the next one is awaited', async (t) => {
  const side = sideEvents<string>();
  const gate = Promise.withResolvers<void>();
  const read: (string | number)[] = [];
  async function* numbers() {
    side.push('a');
    yield 1;
    side.push('b');
    side.push('c');
    await gate.promise;
    yield 2;
    side.push('last');
  }
  for await (const event of side.among(numbers())) {
    read.push(event);
    if (event === 'c') gate.resolve();
  }
  t.deepEqual(read, ['a', 1, 'b', 'c', 2, 'last']);
});

test('an error of the stream is thrown after the events pushed before it', async (t) => {
  const side = sideEvents<string>();
  async function* broken() {
    yield 1;
    side.push('a');
    throw new Error('broken');
  }
  const read: unknown[] = [];
  await t.throwsAsync(
    async () => {
      for await (const event of side.among(broken())) read.push(event);
    },
    { message: 'broken' },
  );
  t.deepEqual(read, [1, 'a']);
});

test('ending the iteration ends the stream', async (t) => {
  const side = sideEvents<string>();
  let hasEnded = false;
  async function* endless() {
    try {
      for (;;) yield 1;
    } finally {
      hasEnded = true;
    }
  }
  for await (const _ of side.among(endless())) break;
  t.true(hasEnded);
});
