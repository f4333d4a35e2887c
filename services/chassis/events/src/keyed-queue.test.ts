import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { keyedQueue } from './keyed-queue.ts';

const unabortedSignal = new AbortController().signal;
const immediate = () => new Promise(setImmediate);

test('tasks behind a failed one of their batch are not run; those of another batch are, in order', async (t) => {
  const queue = keyedQueue(4);
  const gate = createGate();
  const ran: string[] = [];
  const task = (name: string) => async () => void ran.push(name);
  const failing = async () => {
    await gate.pass();
    throw new Error('no');
  };
  const outcomes = Promise.allSettled([
    queue.run('1', failing, { batch: 'old' }),
    queue.run('1', task('old behind'), { batch: 'old' }),
    queue.run('1', task('new one'), { batch: 'new' }),
    queue.run('1', task('new two'), { batch: 'new' }),
  ]);
  gate.open();
  t.deepEqual(
    (await outcomes).map(({ status }) => status),
    ['rejected', 'rejected', 'fulfilled', 'fulfilled'],
  );
  t.deepEqual(ran, ['new one', 'new two']);
});

test('a partition whose tasks hang leaves a slot to each other partition', async (t) => {
  const queue = keyedQueue(4);
  queue.reserve(['a', 'b', 'c']);
  const gate = createGate();
  let hanging = 0;
  const hangs = async () => {
    hanging++;
    await gate.pass();
  };
  const all = Array.from({ length: 10 }, (_, n) => queue.run(`a ${n}`, hangs, { partition: 'a' }));
  await immediate();
  t.is(hanging, 2);
  await queue.run('b 1', async () => undefined, { partition: 'b' });
  await queue.run('c 1', async () => undefined, { partition: 'c' });
  await queue.run('b 2', async () => undefined, { partition: 'b' });
  t.is(hanging, 2);
  gate.open();
  await Promise.all(all);
  t.is(hanging, 10);
});

test('a single partition gets all slots, and more partitions than slots take turns', async (t) => {
  const queue = keyedQueue(2);
  const gate = createGate();
  const begun: string[] = [];
  const add = (partition: string, n: number) =>
    queue.run(
      `${partition} ${n}`,
      async () => {
        begun.push(partition);
        await gate.pass();
      },
      { partition },
    );
  const first = [add('a', 1), add('a', 2), add('a', 3)];
  await immediate();
  t.deepEqual(begun, ['a', 'a']);
  queue.reserve(['a', 'b', 'c']);
  const all = [...first, add('b', 1), add('c', 1), add('a', 4), add('b', 2), add('c', 2)];
  for (let n = 0; n < all.length; n++) {
    gate.release();
    await immediate();
  }
  await Promise.all(all);
  t.is(begun.length, 8);
  t.deepEqual(begun.slice(2, 5).toSorted(), ['a', 'b', 'c'], 'each partition has its turn');
});

test('a paused task frees its slot, keeps its key and resumes when a slot is free', async (t) => {
  const queue = keyedQueue(1);
  const until = createGate();
  const gate = createGate();
  const order: string[] = [];
  const paused = queue.run('1', async (pause) => {
    order.push('pauses');
    await pause(until.pass(), unabortedSignal);
    order.push('resumes');
  });
  const behind = queue.run('1', async () => void order.push('behind'));
  const beside = queue.run('2', async () => {
    order.push('beside');
    await gate.pass();
    order.push('beside ends');
  });
  await immediate();
  t.deepEqual(order, ['pauses', 'beside']);
  until.open();
  await immediate();
  t.deepEqual(order, ['pauses', 'beside'], 'no slot is free yet');
  gate.open();
  await Promise.all([paused, behind, beside]);
  t.deepEqual(order, ['pauses', 'beside', 'beside ends', 'resumes', 'behind']);
});

test('a stopped pause ends without waiting for a slot', async (t) => {
  const queue = keyedQueue(1);
  const stop = new AbortController();
  const until = createGate();
  const paused = queue.run('1', async (pause) => {
    await pause(until.pass(), stop.signal);
    stop.signal.throwIfAborted();
  });
  queue.resize(0);
  until.open();
  await immediate();
  stop.abort(new Error('stopped'));
  await t.throwsAsync(paused, { message: 'stopped' });
});
