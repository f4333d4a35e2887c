import { setImmediate as round } from 'node:timers/promises';
import { requestTurns } from '@parley/kernel/queues/request-turns';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { type FrameTurnsOptions, frameTurns } from './frame-turns.ts';

function setup(options: Partial<FrameTurnsOptions> = {}) {
  const turns = frameTurns({
    turns: requestTurns({ sliceMs: 60_000 }),
    maxMessagesPerSecond: 1_000,
    maxFrameBytes: 1_000,
    windowMs: 60_000,
    ...options,
  });
  const served: string[] = [];
  const open = new AbortController().signal;
  const send = (client: string, count: number, bytes = 1, { name = client, signal = open } = {}) =>
    Array.from({ length: count }, () =>
      turns.take({ client, bytes, signal: () => signal }, () => void served.push(name)),
    );
  const count = (client: string) => served.filter((each) => each === client).length;
  async function rounds(most = 100) {
    for (let n = 0; n < most; n += 1) await round();
  }
  return { served, send, count, rounds };
}

test('clients take turns, however many frames the sockets of one of them have sent', async (t) => {
  const { served, send, rounds } = setup();
  void send('a', 500);
  void send('b', 2);
  t.deepEqual(served, ['a']);
  await rounds();
  t.is(served.length, 502);
  t.deepEqual(served.slice(0, 6), ['a', 'a', 'b', 'a', 'b', 'a']);
});

test('a client beyond its frames waits for the next second, and others do not', async (t) => {
  const { send, count, rounds } = setup({ maxMessagesPerSecond: 2 });
  void send('a', 60);
  void send('b', 1);
  await rounds();
  t.deepEqual([count('a'), count('b')], [50, 1]);
});

test('a client beyond its bytes waits for the next second, and others do not', async (t) => {
  const { send, count, rounds } = setup();
  void send('a', 100, 1_000);
  void send('b', 1, 1_000);
  await rounds();
  t.deepEqual([count('a'), count('b')], [64, 1]);
});

test('a client whose frames have taken a quarter of the second waits for the next, and others do not', async (t) => {
  let now = 0;
  const { send, count, rounds } = setup({ now: () => (now += 5_000) });
  void send('a', 10);
  void send('b', 1);
  await rounds();
  t.deepEqual([count('a'), count('b')], [3, 1]);
});

test('frames that waited for the next second are served then, each once', async (t) => {
  const { served, send } = setup({ maxMessagesPerSecond: 1, windowMs: 1 });
  const names = Array.from({ length: 90 }, (_, n) => `${n}`);
  for (const name of names) void send('a', 1, 1, { name });
  await eventually('all are served', () => served.length === names.length);
  t.deepEqual(served.toSorted(), names.toSorted());
});

test('frames of a socket that has gone neither wait on nor use up the second', async (t) => {
  const { send, served, rounds } = setup({ maxMessagesPerSecond: 2 });
  const socket = new AbortController();
  const waiting = send('a', 40, 1, { name: 'gone', signal: socket.signal });
  socket.abort();
  t.deepEqual(await Promise.all(waiting), Array(40).fill(true));
  t.is(served.length, 1, 'the first had its turn at once');
  void send('a', 49);
  await rounds();
  t.is(served.length, 50);
});

test('a frame is not served in the next second where its socket went while the event loop was busy', async (t) => {
  let now = 0;
  const windowMs = 100;
  const turns = { take: async (_turn: object, work: () => void) => work() };
  const { send, served } = setup({ turns, windowMs, now: () => (now += windowMs) });
  const socket = new AbortController();
  void send('a', 1);
  const waiting = send('a', 1, 1, { name: 'gone', signal: socket.signal });
  const until = performance.now() + windowMs;
  while (performance.now() < until) continue;
  socket.abort();
  t.deepEqual(await Promise.all(waiting), [true]);
  t.deepEqual(served, ['a']);
});

test('a frame is refused where too many bytes of its client wait', async (t) => {
  const { send, served } = setup();
  const taken = send('a', 64, 1_000);
  t.deepEqual(await Promise.all(send('a', 1, 1_000)), [false]);
  t.deepEqual(await Promise.all(send('b', 1, 1_000)), [true]);
  t.deepEqual(await Promise.all(taken), Array(64).fill(true));
  t.is(served.length, 65);
});
