import { setImmediate as round } from 'node:timers/promises';
import { requestScheduler } from '@parley/kernel/queues/request-scheduler';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { type FrameSchedulerOptions, frameScheduler } from './frame-scheduler.ts';

function setup(options: Partial<FrameSchedulerOptions> = {}) {
  const scheduler = frameScheduler({
    scheduler: requestScheduler({ sliceMs: 60_000 }),
    maxMessagesPerSecond: 1_000,
    maxFrameBytes: 1_000,
    windowMs: 60_000,
    ...options,
  });
  const served: string[] = [];
  const openSignal = new AbortController().signal;
  const send = (client: string, count: number, bytes = 1, { name = client, signal = openSignal } = {}) =>
    Array.from({ length: count }, () =>
      scheduler.run({ client, bytes, signal: () => signal }, () => void served.push(name)),
    );
  const count = (client: string) => served.filter((each) => each === client).length;
  async function rounds(maxRounds = 100) {
    for (let n = 0; n < maxRounds; n += 1) await round();
  }
  return { served, send, count, rounds };
}

test('frames run round-robin between clients, however many one client has sent', async (t) => {
  const { served, send, rounds } = setup();
  void send('a', 500);
  void send('b', 2);
  t.deepEqual(served, ['a']);
  await rounds();
  t.is(served.length, 502);
  t.deepEqual(served.slice(0, 6), ['a', 'a', 'b', 'a', 'b', 'a']);
});

test('a client over its frame limit waits for the next second, and others do not', async (t) => {
  const { send, count, rounds } = setup({ maxMessagesPerSecond: 2 });
  void send('a', 60);
  void send('b', 1);
  await rounds();
  t.deepEqual([count('a'), count('b')], [50, 1]);
});

test('a client over its byte limit waits for the next second, and others do not', async (t) => {
  const { send, count, rounds } = setup();
  void send('a', 100, 1_000);
  void send('b', 1, 1_000);
  await rounds();
  t.deepEqual([count('a'), count('b')], [64, 1]);
});

test('a client whose frames took a quarter of a second of CPU waits for the next second, and others do not', async (t) => {
  let now = 0;
  const { send, count, rounds } = setup({ now: () => (now += 5_000) });
  void send('a', 10);
  void send('b', 1);
  await rounds();
  t.deepEqual([count('a'), count('b')], [3, 1]);
});

test('frames that waited for the next second run then, each exactly once', async (t) => {
  const { served, send } = setup({ maxMessagesPerSecond: 1, windowMs: 1 });
  const names = Array.from({ length: 90 }, (_, n) => `${n}`);
  for (const name of names) void send('a', 1, 1, { name });
  await eventually('all are served', () => served.length === names.length);
  t.deepEqual(served.toSorted(), names.toSorted());
});

test('frames of a closed socket leave the queue and do not count towards the limit', async (t) => {
  const { send, served, rounds } = setup({ maxMessagesPerSecond: 2 });
  const socket = new AbortController();
  const waiting = send('a', 40, 1, { name: 'closed', signal: socket.signal });
  socket.abort();
  t.deepEqual(await Promise.all(waiting), Array(40).fill(true));
  t.is(served.length, 1, 'the first frame ran at once');
  void send('a', 49);
  await rounds();
  t.is(served.length, 50);
});

test('a frame does not run in the next second if its socket closed while the event loop was busy', async (t) => {
  let now = 0;
  const windowMs = 100;
  const scheduler = { run: async (_frame: object, work: () => void) => work() };
  const { send, served } = setup({ scheduler, windowMs, now: () => (now += windowMs) });
  const socket = new AbortController();
  void send('a', 1);
  const waiting = send('a', 1, 1, { name: 'closed', signal: socket.signal });
  const until = performance.now() + windowMs;
  while (performance.now() < until) continue;
  socket.abort();
  t.deepEqual(await Promise.all(waiting), [true]);
  t.deepEqual(served, ['a']);
});

test('a frame is refused if too many bytes of its client are queued', async (t) => {
  const { send, served } = setup();
  const taken = send('a', 64, 1_000);
  t.deepEqual(await Promise.all(send('a', 1, 1_000)), [false]);
  t.deepEqual(await Promise.all(send('b', 1, 1_000)), [true]);
  t.deepEqual(await Promise.all(taken), Array(64).fill(true));
  t.is(served.length, 65);
});
