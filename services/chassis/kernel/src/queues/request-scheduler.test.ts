import { setImmediate as round } from 'node:timers/promises';
import test from 'ava';
import { type RequestSchedulerOptions, requestScheduler } from './request-scheduler.ts';

const unabortedSignal = new AbortController().signal;

/** Blocks the event loop. */
function burn(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

/** @param costMs time in ms for which each request blocks the event loop. */
function setup({ costMs = 0, ...options }: RequestSchedulerOptions & { costMs?: number } = {}) {
  const scheduler = requestScheduler(options);
  const begun: string[] = [];
  const begin = (client: string, name = client, signal = unabortedSignal) => {
    const work = () => {
      begun.push(name);
      burn(costMs);
    };
    void scheduler.run({ request: {}, client, signal: () => signal }, work);
  };
  /** Counts event loop iterations until `count` requests have started. */
  async function roundsUntil(count: number): Promise<number> {
    let rounds = 0;
    for (; begun.length < count; rounds += 1) await round();
    return rounds;
  }
  return { scheduler, begun, begin, roundsUntil };
}

test('a single request starts at once', async (t) => {
  const { scheduler, begun, begin } = setup();
  for (const name of ['first', 'second', 'third']) {
    begin('192.0.2.1', name);
    t.is(begun.at(-1), name);
    await round();
  }
  t.is(scheduler.waiting, 0);
});

test('requests run round-robin between clients, even if one client sends many at once', async (t) => {
  const { begun, begin, roundsUntil } = setup();
  for (let n = 0; n < 600; n += 1) begin('a');
  for (const client of ['b', 'c', 'b', 'c']) begin(client);
  t.deepEqual(begun, ['a']);
  await roundsUntil(604);
  t.deepEqual(begun.slice(0, 10), ['a', 'a', 'b', 'c', 'a', 'b', 'c', 'a', 'a', 'a']);
});

test.serial('slow requests run in separate event loop iterations, and short ones share one', async (t) => {
  for (const [sliceMs, minRounds, maxRounds] of [
    [0, 20, 103], // if other work takes long, up to five requests share an iteration
    [60_000, 100 / 16, 10],
  ] as const) {
    const { begin, roundsUntil } = setup({ sliceMs, costMs: 0.5 });
    for (let n = 0; n < 100; n += 1) begin('a');
    const rounds = await roundsUntil(100);
    t.true(rounds >= minRounds - 1 && rounds <= maxRounds, `${rounds} rounds with ${sliceMs} ms`);
  }
});

// Serial, because the other tests count iterations of the same event loop.
test.serial('requests get as much time of an iteration as other work takes', async (t) => {
  const { begin, roundsUntil } = setup({ sliceMs: 0 });
  let burning = setImmediate(function otherWork() {
    burn(20);
    burning = setImmediate(otherWork);
  });
  t.teardown(() => clearImmediate(burning));
  for (let n = 0; n < 100; n += 1) begin('a');
  const rounds = await roundsUntil(100);
  t.true(rounds <= 50, `${rounds} rounds`); // one request per iteration would take 100 rounds
});

test.serial('a request of a new client runs after one request of each waiting client', async (t) => {
  const { begun, begin, roundsUntil } = setup({ sliceMs: 0, costMs: 0.5 });
  for (let n = 0; n < 50; n += 1) begin('a');
  await roundsUntil(5);
  const before = begun.length; // more than five if other work took long
  t.true(before < 50);
  begin('b');
  await roundsUntil(51);
  t.true(begun.indexOf('b') <= before + 1, begun.join(' '));
});

test('a request runs up to its first asynchronous wait before the next one starts', async (t) => {
  const scheduler = requestScheduler({ sliceMs: 60_000 });
  const seen: string[] = [];
  const work = (name: string) => async () => {
    seen.push(`${name} begins`);
    for (let n = 0; n < 50; n += 1) await Promise.resolve();
    await new Promise((resolve) => process.nextTick(resolve));
    seen.push(`${name} waits`);
  };
  for (const client of ['a', 'b', 'c'])
    void scheduler.run({ request: {}, client, signal: () => unabortedSignal }, work(client));
  while (seen.length < 6) await round();
  t.deepEqual(seen, ['a begins', 'a waits', 'b begins', 'b waits', 'c begins', 'c waits']);
});

test('a request continues at once within its slot, and is queued again afterwards', async (t) => {
  const scheduler = requestScheduler({ sliceMs: 0 });
  const seen: string[] = [];
  const run = (client: string, request: object, name: string) =>
    scheduler.run({ request, client, signal: () => unabortedSignal }, () => void seen.push(name));
  const [first, second] = [{}, {}];
  void run('a', first, 'first');
  void run('b', second, 'second');
  await Promise.resolve();
  void run('a', first, 'first goes on');
  t.deepEqual(seen, ['first', 'first goes on']);
  while (seen.length < 3) await round();
  void run('a', first, 'first goes on again');
  t.deepEqual(seen, ['first', 'first goes on', 'second']);
  while (seen.length < 4) await round();
  t.is(scheduler.waiting, 0);
});

test('an aborted request never starts and delays no other', async (t) => {
  const { scheduler, begun, begin, roundsUntil } = setup();
  const leaving = new AbortController();
  begin('a');
  begin('a', 'left', leaving.signal);
  begin('a', 'next');
  t.is(scheduler.waiting, 2);
  leaving.abort();
  t.is(scheduler.waiting, 1);
  begin('a', 'left before it came', leaving.signal);
  begin('b');
  await roundsUntil(3);
  await round();
  t.deepEqual(begun, ['a', 'next', 'b']);
  t.is(scheduler.waiting, 0);
});
