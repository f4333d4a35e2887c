import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { keyedQueue } from './keyed-queue.ts';

const never = new AbortController().signal;
const turn = () => new Promise(setImmediate);

test('those behind a failed one of their line are not run; those of another line are, in order', async (t) => {
  const queue = keyedQueue(4);
  const gate = createGate();
  const ran: string[] = [];
  const task = (name: string) => async () => void ran.push(name);
  const failing = async () => {
    await gate.pass();
    throw new Error('no');
  };
  const outcomes = Promise.allSettled([
    queue.run('1', failing, { line: 'old' }),
    queue.run('1', task('old behind'), { line: 'old' }),
    queue.run('1', task('new one'), { line: 'new' }),
    queue.run('1', task('new two'), { line: 'new' }),
  ]);
  gate.open();
  t.deepEqual(
    (await outcomes).map(({ status }) => status),
    ['rejected', 'rejected', 'fulfilled', 'fulfilled'],
  );
  t.deepEqual(ran, ['new one', 'new two']);
});

test('a part whose tasks hang leaves room for one task of each other part', async (t) => {
  const queue = keyedQueue(4);
  queue.reserve(['a', 'b', 'c']);
  const gate = createGate();
  let hanging = 0;
  const hangs = async () => {
    hanging++;
    await gate.pass();
  };
  const all = Array.from({ length: 10 }, (_, n) => queue.run(`a ${n}`, hangs, { part: 'a' }));
  await turn();
  t.is(hanging, 2);
  await queue.run('b 1', async () => undefined, { part: 'b' });
  await queue.run('c 1', async () => undefined, { part: 'c' });
  await queue.run('b 2', async () => undefined, { part: 'b' });
  t.is(hanging, 2);
  gate.open();
  await Promise.all(all);
  t.is(hanging, 10);
});

test('a part that is alone has all the room, and more parts than room take turns', async (t) => {
  const queue = keyedQueue(2);
  const gate = createGate();
  const begun: string[] = [];
  const add = (part: string, n: number) =>
    queue.run(
      `${part} ${n}`,
      async () => {
        begun.push(part);
        await gate.pass();
      },
      { part },
    );
  const first = [add('a', 1), add('a', 2), add('a', 3)];
  await turn();
  t.deepEqual(begun, ['a', 'a']);
  queue.reserve(['a', 'b', 'c']);
  const all = [...first, add('b', 1), add('c', 1), add('a', 4), add('b', 2), add('c', 2)];
  for (let n = 0; n < all.length; n++) {
    gate.release();
    await turn();
  }
  await Promise.all(all);
  t.is(begun.length, 8);
  t.deepEqual(begun.slice(2, 5).toSorted(), ['a', 'b', 'c'], 'each has its turn');
});

test('a task that rests leaves its room to others, keeps its key and comes back when there is room', async (t) => {
  const queue = keyedQueue(1);
  const pause = createGate();
  const gate = createGate();
  const order: string[] = [];
  const resting = queue.run('1', async (rest) => {
    order.push('rests');
    await rest(pause.pass(), never);
    order.push('is back');
  });
  const behind = queue.run('1', async () => void order.push('behind'));
  const beside = queue.run('2', async () => {
    order.push('beside');
    await gate.pass();
    order.push('beside ends');
  });
  await turn();
  t.deepEqual(order, ['rests', 'beside']);
  pause.open();
  await turn();
  t.deepEqual(order, ['rests', 'beside'], 'there is no room for it yet');
  gate.open();
  await Promise.all([resting, behind, beside]);
  t.deepEqual(order, ['rests', 'beside', 'beside ends', 'is back', 'behind']);
});

test('a rest that is stopped waits for no room', async (t) => {
  const queue = keyedQueue(1);
  const stop = new AbortController();
  const pause = createGate();
  const resting = queue.run('1', async (rest) => {
    await rest(pause.pass(), stop.signal);
    stop.signal.throwIfAborted();
  });
  queue.resize(0);
  pause.open();
  await turn();
  stop.abort(new Error('stopped'));
  await t.throwsAsync(resting, { message: 'stopped' });
});
