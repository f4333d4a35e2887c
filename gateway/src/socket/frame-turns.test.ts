import { setImmediate as round } from 'node:timers/promises';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { requestTurns } from '../http/request-turns.ts';
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
  const send = (client: string, count: number, bytes = 1, name = client) => {
    for (let n = 0; n < count; n += 1) void turns.take({ client, bytes }, () => void served.push(name));
  };
  const count = (client: string) => served.filter((each) => each === client).length;
  async function rounds(most = 100) {
    for (let n = 0; n < most; n += 1) await round();
  }
  return { served, send, count, rounds };
}

test('clients take turns, however many frames the sockets of one of them have sent', async (t) => {
  const { served, send, rounds } = setup();
  send('a', 500);
  send('b', 2);
  t.deepEqual(served, ['a']);
  await rounds();
  t.is(served.length, 502);
  t.deepEqual(served.slice(0, 6), ['a', 'a', 'b', 'a', 'b', 'a']);
});

test('a client beyond its frames waits for the next second, and others do not', async (t) => {
  const { send, count, rounds } = setup({ maxMessagesPerSecond: 2 });
  send('a', 60);
  send('b', 1);
  await rounds();
  t.deepEqual([count('a'), count('b')], [50, 1]);
});

test('a client beyond its bytes waits for the next second, and others do not', async (t) => {
  const { send, count, rounds } = setup();
  send('a', 100, 1_000);
  send('b', 1, 1_000);
  await rounds();
  t.deepEqual([count('a'), count('b')], [64, 1]);
});

test('a client whose frames have taken a quarter of the second waits for the next, and others do not', async (t) => {
  let now = 0;
  const { send, count, rounds } = setup({ now: () => (now += 5_000) });
  send('a', 10);
  send('b', 1);
  await rounds();
  t.deepEqual([count('a'), count('b')], [3, 1]);
});

test('frames that waited for the next second are served then, each once', async (t) => {
  const { served, send } = setup({ maxMessagesPerSecond: 1, windowMs: 1 });
  const names = Array.from({ length: 90 }, (_, n) => `${n}`);
  for (const name of names) send('a', 1, 1, name);
  await eventually('all are served', () => served.length === names.length);
  t.deepEqual(served.toSorted(), names.toSorted());
});
