import { fairQueue } from '@parley/kernel/queues/fair-queue';
import test from 'ava';
import { enterQueue } from './enter-queue.ts';

const parties = { address: 'a' };
const setup = () => fairQueue({ inFlight: 1, shares: { address: { waiting: 1 } } });

test('a wait that times out is unavailable and leaves the queue', async (t) => {
  const queue = setup();
  await enterQueue(queue, parties, { withinMs: 60_000 });
  await t.throwsAsync(enterQueue(queue, parties, { withinMs: 1 }), { message: /Too many requests/u });
  t.is(queue.waiting, 0);
});

test('an aborted wait leaves the queue and takes no slot', async (t) => {
  const queue = setup();
  const end = await enterQueue(queue, parties, { withinMs: 60_000 });
  const leaving = new AbortController();
  const waiting = enterQueue(queue, parties, { withinMs: 60_000, signal: leaving.signal });
  t.is(queue.waiting, 1);
  leaving.abort();
  await t.throwsAsync(waiting, { name: 'AbortError' });
  t.is(queue.waiting, 0);
  end();
  await t.throwsAsync(enterQueue(queue, parties, { withinMs: 60_000, signal: leaving.signal }), { name: 'AbortError' });
  t.is(queue.parties, 0);
});

test('a full queue refuses, unless the operation has begun', async (t) => {
  const queue = setup();
  const end = await enterQueue(queue, parties, { withinMs: 60_000 });
  const second = enterQueue(queue, parties, { withinMs: 60_000 });
  const refused = await t.throwsAsync(enterQueue(queue, parties, { withinMs: 60_000 }));
  t.like(refused, { kind: 'tooManyRequests' });
  const begun = enterQueue(queue, parties, { withinMs: 60_000, begun: true });
  end();
  (await second)();
  (await begun)();
  t.is(queue.parties, 0);
});
