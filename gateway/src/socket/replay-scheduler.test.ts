import { setImmediate as round } from 'node:timers/promises';
import test from 'ava';
import { replayScheduler } from './replay-scheduler.ts';

const unabortedSignal = new AbortController().signal;
const from = (ip: string, tenantId = 1) => ({ ip, tenantId });

/** Counts event loop iterations until `work` is done. */
async function roundsDuring(work: Promise<unknown>): Promise<number> {
  const state = { rounds: 0, isDone: false };
  const wait = async () => {
    await work;
    state.isDone = true;
  };
  void wait();
  while (!state.isDone) {
    await round();
    state.rounds += 1;
  }
  return state.rounds;
}

test('replays yield to the event loop, however many there are', async (t) => {
  const scheduler = replayScheduler(0);
  const events = 20;
  const replays = Array.from({ length: 5 }, async () => {
    for (let n = 0; n < events; n += 1) (await scheduler.next(from('192.0.2.1'), unabortedSignal))();
  });
  const rounds = await roundsDuring(Promise.all(replays));
  t.true(rounds >= 5 * events - 1, `${rounds}`);
});

test('short events share an event loop iteration', async (t) => {
  const scheduler = replayScheduler(60_000);
  const replay = async () => {
    for (let n = 0; n < 100; n += 1) (await scheduler.next(from('192.0.2.1'), unabortedSignal))();
  };
  t.true((await roundsDuring(replay())) <= 2);
});

test('events are scheduled round-robin between clients, however many replays a client or its tenant has', async (t) => {
  const scheduler = replayScheduler();
  const order: string[] = [];
  async function replay(name: string, caller: ReturnType<typeof from>, events: number): Promise<void> {
    for (let n = 0; n < events; n += 1) {
      const end = await scheduler.next(caller, unabortedSignal);
      order.push(name);
      end();
    }
  }
  const first = await scheduler.next(from('192.0.2.9'), unabortedSignal);
  const many = Array.from({ length: 50 }, () => replay('a', from('192.0.2.1'), 4));
  const others = [replay('b', from('192.0.2.2', 2), 4), replay('c', from('192.0.2.3', 3), 4)];
  first();
  await Promise.all([...many, ...others]);
  t.deepEqual(
    order
      .slice(0, 20)
      .filter((name) => name !== 'a')
      .toSorted(),
    ['b', 'b', 'b', 'b', 'c', 'c', 'c', 'c'],
  );
  t.is(order.length, 208);
});

test('an aborted replay leaves the queue and delays no other', async (t) => {
  const scheduler = replayScheduler();
  const first = await scheduler.next(from('192.0.2.1'), unabortedSignal);
  const leaving = new AbortController();
  const left = scheduler.next(from('192.0.2.1'), leaving.signal);
  const second = scheduler.next(from('192.0.2.1'), unabortedSignal);
  t.is(scheduler.waiting, 2);
  leaving.abort();
  await t.throwsAsync(left, { name: 'AbortError' });
  first();
  (await second)();
  t.is(scheduler.waiting, 0);
});
