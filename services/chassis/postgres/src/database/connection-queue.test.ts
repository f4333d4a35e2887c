import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import { connectionQueue, type Entry, type Leave } from './connection-queue.ts';

const never = 3_600_000;

/** A queue, and the names of the transactions that have begun, in order. */
function setup(size: number) {
  const queue = connectionQueue({ size });
  const begun: string[] = [];
  const leaving = new Map<string, Leave>();
  async function enter(name: string, entry: Partial<Entry> = {}) {
    const leave = await queue.enter({ maxStallMs: never, ...entry });
    begun.push(name);
    leaving.set(name, leave);
  }
  async function end(name: string, isAnswered = true) {
    leaving.get(name)?.(isAnswered);
    await setImmediate();
  }
  return { queue, begun, enter, end };
}

test('one place is for urgent transactions only', async (t) => {
  const { queue, begun, enter, end } = setup(3);
  for (const name of ['a', 'b', 'c', 'd']) void enter(name);
  await setImmediate();
  t.deepEqual(begun, ['a', 'b']);

  void enter('urgent', { isUrgent: true });
  void enter('urgent too', { isUrgent: true });
  await end('none');
  t.deepEqual(begun, ['a', 'b', 'urgent']);
  t.deepEqual([queue.used, queue.waiting], [3, 3]);

  await end('a');
  t.deepEqual(begun.slice(3), ['urgent too'], 'it is served before those that have waited for longer');
  await end('urgent');
  t.deepEqual(begun.slice(4), ['c'], 'the place of another one is free again');
  await end('urgent too');
  t.is(begun.length, 5, 'and that of urgent ones stays free');
});

test('a single place is for all transactions, and urgent ones come first', async (t) => {
  const { begun, enter, end } = setup(1);
  for (const name of ['a', 'b']) void enter(name);
  void enter('urgent', { isUrgent: true });
  await end('none');
  for (const name of ['a', 'urgent', 'b']) {
    t.is(begun.at(-1), name);
    await end(name);
  }
});

test('waiting transactions begin round robin by party', async (t) => {
  const { begun, enter, end } = setup(1);
  for (const name of ['a1', 'a2', 'a3']) void enter(name, { party: 'a' });
  for (const name of ['b1', 'b2']) void enter(name, { party: 'b' });
  await end('none');
  for (const name of ['a1', 'a2', 'b1', 'a3', 'b2']) {
    t.is(begun.at(-1), name);
    await end(name, true);
  }
});

test('a transaction waits while the database responds to others, and is refused when it responds to none', async (t) => {
  const { queue, begun, enter, end } = setup(1);
  void enter('first');
  const refused = t.throwsAsync(enter('refused', { maxStallMs: 50 }));
  const patient = enter('patient', { maxStallMs: never });
  t.like(await refused, { kind: 'unavailable' });
  t.is(queue.waiting, 1);

  await end('first', false);
  await patient;
  t.deepEqual(begun, ['first', 'patient']);
});

test('a transaction that failed without a response of the database does not count as progress', async (t) => {
  const { begun, enter, end } = setup(1);
  for (const name of ['a', 'b']) void enter(name);
  const late = t.throwsAsync(enter('late', { maxStallMs: 300 }));
  const failing = setInterval(() => void end('a', false), 10);
  t.teardown(() => clearInterval(failing));

  t.like(await late, { kind: 'unavailable' });
  t.deepEqual(begun, ['a', 'b']);
});

test('a transaction ends once', async (t) => {
  const { queue, enter, end } = setup(2);
  await enter('a');
  await enter('urgent', { isUrgent: true });
  await end('a');
  await end('a');
  t.is(queue.used, 1);
});

test('a transaction whose caller has gone leaves the queue', async (t) => {
  const { queue, begun, enter, end } = setup(1);
  const caller = new AbortController();
  void enter('first');
  const gone = t.throwsAsync(enter('gone', { signal: caller.signal }));
  void enter('next');
  caller.abort();
  t.like(await gone, { kind: 'unavailable', message: 'The caller has gone' });
  t.is(queue.waiting, 1);
  await end('first');
  t.deepEqual(begun, ['first', 'next']);
  await t.throwsAsync(enter('too late', { signal: caller.signal }), { message: 'The caller has gone' });
});
