import { setImmediate } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { type FairQueue, type FairQueueLimits, fairQueue, type Release } from './fair-queue.ts';

type Limits = FairQueueLimits<'address' | 'tenant'>;

const unabortedSignal = new AbortController().signal;

/** Creates a queue, and lists the names of the calls that have begun, in order. */
function setup({ shares, ...limits }: Partial<Omit<Limits, 'shares'>> & { shares?: Partial<Limits['shares']> } = {}) {
  const queue = fairQueue({ ...limits, shares: { address: {}, tenant: {}, ...shares } });
  const begun: string[] = [];
  const ends = new Map<string, Release>();
  async function call(name: string, { address = name, tenant = null as number | null, signal = unabortedSignal } = {}) {
    const end = await queue.enter({ address, tenant }, () => signal);
    begun.push(name);
    ends.set(name, end);
  }
  async function end(...names: string[]) {
    for (const name of names) ends.get(name)?.();
    await setImmediate();
  }
  return { queue, begun, call, end };
}

test('a call begins at once while the limits allow, and makes no signal', (t) => {
  const queue = fairQueue({ inFlight: 2, shares: { address: {}, tenant: {} } });
  const one = queue.enter({ address: 'a', tenant: 1 }, () => t.fail());
  const two = queue.enter({ address: 'a' }, () => t.fail());
  t.is(typeof one, 'function');
  t.is(typeof two, 'function');
  t.true(queue.enter({ address: 'b', tenant: null }) instanceof Promise);
});

test('a client is limited to its share, and others begin before its waiting calls', async (t) => {
  const { begun, call, end } = setup({ shares: { address: { inFlight: 2 } } });
  for (const name of ['a1', 'a2', 'a3', 'a4']) void call(name, { address: 'a' });
  void call('b');
  await end();
  t.deepEqual(begun, ['a1', 'a2', 'b']);
  await end('b');
  t.is(begun.length, 3, 'the end of a call of others does not raise its limit');
  await end('a2', 'a1');
  t.deepEqual(begun, ['a1', 'a2', 'b', 'a3', 'a4']);
});

test('the share of a tenant is for all of its clients together', async (t) => {
  const { begun, call, end } = setup({ shares: { tenant: { inFlight: 2 } } });
  for (const name of ['a', 'b', 'c']) void call(name, { tenant: 1 });
  void call('d', { address: 'a', tenant: 2 });
  void call('e', { address: 'a' });
  await end();
  t.deepEqual(begun, ['a', 'b', 'd', 'e']);
  await end('a');
  t.deepEqual(begun, ['a', 'b', 'd', 'e', 'c']);
});

test('waiting calls begin round robin by tenant and within it by client, however many each has', async (t) => {
  const { begun, call, end } = setup({ inFlight: 1 });
  void call('first');
  for (const name of ['a1', 'a2', 'a3']) void call(name, { address: 'a', tenant: 1 });
  for (const name of ['b1', 'b2']) void call(name, { address: 'b', tenant: 1 });
  void call('a of 2', { address: 'a', tenant: 2 });
  void call('c');
  await end();
  await end('first');
  for (const name of ['a1', 'a of 2', 'c', 'b1', 'a2', 'b2', 'a3']) {
    t.is(begun.at(-1), name);
    await end(name);
  }
});

test("a tenant's call waits behind one of each other tenant, at however many addresses their clients are", async (t) => {
  const { begun, call, end } = setup({ inFlight: 2 });
  for (let n = 0; n < 50; n += 1) void call(`many ${n}`, { tenant: 1 });
  for (let n = 0; n < 50; n += 1) void call(`others ${n}`, { tenant: 2 });
  void call('stranger', { tenant: 3 });
  await end();
  await end('many 0', 'many 1');
  await end('others 0');
  t.deepEqual(begun, ['many 0', 'many 1', 'many 2', 'others 0', 'stranger']);
});

test('a call beyond the waiting limit of its client or tenant is refused and not counted', async (t) => {
  const { queue, begun, call, end } = setup({
    shares: { address: { inFlight: 1, waiting: 2 }, tenant: { inFlight: 2, waiting: 3 } },
  });
  for (const name of ['a1', 'a2', 'a3']) void call(name, { address: 'a', tenant: 1 });
  for (const name of ['b1', 'b2']) void call(name, { address: 'b', tenant: 1 });
  await end();
  t.deepEqual(begun, ['a1', 'b1']);
  await t.throwsAsync(call('a4', { address: 'a', tenant: 3 }), { message: /this address/ });
  const error = await t.throwsAsync(call('c', { tenant: 1 }), { message: /this tenant/ });
  t.like(error, { kind: 'tooManyRequests' });
  t.is(queue.parties, 3, 'who was refused is not remembered');
  await end('a1', 'b1');
  await end('a2', 'b2');
  await end('a3');
  t.is(begun.length, 5);
  t.is(queue.parties, 0);
});

test('an aborted call leaves the queue, and the next one begins instead', async (t) => {
  const { queue, begun, call, end } = setup({ shares: { address: { inFlight: 1, waiting: 2 } } });
  const aborted = new AbortController();
  void call('a1', { address: 'a' });
  const waiting = call('a2', { address: 'a', signal: aborted.signal });
  void call('a3', { address: 'a' });
  t.is(queue.waiting, 2);
  aborted.abort(new Error('aborted'));
  await t.throwsAsync(waiting, { message: 'aborted' });
  t.is(queue.waiting, 1);
  await t.throwsAsync(call('too late', { address: 'a', signal: aborted.signal }), { message: 'aborted' });
  void call('a4', { address: 'a' }); // the party has room for a waiting call again
  await end('a1');
  t.deepEqual(begun, ['a1', 'a3']);
  await end('a3');
  await end('a4', 'a4'); // the second release has no effect
  t.is(queue.parties, 0);
});

test('a full queue drops a call of the longest flow for a shorter one, else it refuses', async (t) => {
  const { queue, begun, call, end } = setup({ inFlight: 1, waiting: 4 });
  const aborted = new AbortController();
  for (const name of ['a0', 'a1', 'a2']) void call(name, { address: 'a' });
  const last = call('a3', { address: 'a' });
  const leaving = call('aborted', { address: 'a', signal: aborted.signal });
  aborted.abort();
  await t.throwsAsync(leaving);
  const veryLast = call('a4', { address: 'a' });
  void call('b');
  await t.throwsAsync(veryLast, { message: /this client/ });
  t.like(await t.throwsAsync(call('a5', { address: 'a' })), { kind: 'unavailable' });
  void call('c');
  t.like(await t.throwsAsync(last), { kind: 'tooManyRequests' });
  const asManyAsOthers = call('b2', { address: 'b' });
  t.like(await t.throwsAsync(asManyAsOthers), { kind: 'unavailable' });
  t.is(queue.waiting, 4);
  for (const name of ['a0', 'a1', 'b', 'c', 'a2']) {
    t.is(begun.at(-1), name);
    await end(name);
  }
  t.is(queue.parties, 0);
});

test('a full queue that is for only some calls names these calls in its refusal', async (t) => {
  const { call } = setup({ inFlight: 1, waiting: 1, label: 'of guests' });
  void call('a');
  void call('b');
  t.like(await t.throwsAsync(call('c')), {
    kind: 'tooManyRequests',
    message: 'Too many requests of guests at once; try again in a moment',
  });
});

/** Returns a generator of pseudo-random numbers, which are the same in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}

/** Begins, ends and aborts random calls of a few clients and tenants, until all calls have ended. */
async function runRandomly(queue: FairQueue<'address' | 'tenant'>, seed: number, maxOf: (party: string) => number) {
  const next = numbers(seed);
  const running: { parties: string[]; end: Release }[] = [];
  const waiting = new Set<AbortController>();
  const counts = { sent: 0, begun: 0, refused: 0, cancelled: 0, broken: [] as string[] };
  async function send() {
    const [address, tenant] = [`address ${next(4)}`, [null, 'tenant 1', 'tenant 2', 'tenant 3'][next(4)]];
    const leaving = new AbortController();
    counts.sent += 1;
    waiting.add(leaving);
    try {
      const end = await queue.enter({ address, tenant }, () => leaving.signal);
      counts.begun += 1;
      running.push({ parties: ['all', address, tenant ?? 'none'], end });
      for (const party of ['all', address, tenant ?? 'none']) {
        const inFlight = running.filter(({ parties }) => parties.includes(party)).length;
        if (inFlight > maxOf(party)) counts.broken.push(`${party}: ${inFlight}`);
      }
    } catch {
      counts[leaving.signal.aborted ? 'cancelled' : 'refused'] += 1;
    }
    waiting.delete(leaving);
  }
  for (let step = 0; step < 3_000; step += 1) {
    const what = next(10);
    if (what < 5) void send();
    else if (what < 9) running.splice(next(running.length), 1)[0]?.end();
    else [...waiting][next(waiting.size)]?.abort();
    if (next(3) === 0) await setImmediate();
  }
  await setImmediate();
  while (running.length > 0) {
    for (const { end } of running.splice(0)) end();
    await setImmediate();
  }
  return { ...counts, stuck: waiting.size };
}

test('under random starts, ends, aborts and drops no limit is exceeded and no call is forgotten', async (t) => {
  for (const seed of [1, 2, 3, 4]) {
    const shares = { address: { inFlight: 3, waiting: 8 }, tenant: { inFlight: 1 + seed, waiting: 20 } };
    const queue = fairQueue({ inFlight: 4 + seed, waiting: seed % 2 === 0 ? 12 : 100, shares });
    const maxOf = (party: string) => ({ a: 3, t: 1 + seed })[party === 'all' ? '' : (party[0] ?? '')] ?? 4 + seed;
    const { sent, begun, refused, cancelled, broken, stuck } = await runRandomly(queue, seed, maxOf);
    t.deepEqual(broken, []);
    t.is(stuck, 0);
    t.true(begun > 500 && refused > 50 && cancelled > 10, `${begun}, ${refused}, ${cancelled}`);
    t.is(begun + refused + cancelled, sent);
    t.is(queue.parties, 0);
  }
});

/**
 * Creates a queue with ten calls of one client. `ends` of these calls have ended before the queue first estimates waits, which is after
 * half a second.
 */
async function judged(t: ExecutionContext, { inFlight = 1, longestWaitMs = 60_000, ends = 0 }) {
  const judging = new Set<() => void>();
  const later = (_: number, work: () => void) => {
    judging.add(work);
    return () => void judging.delete(work);
  };
  const setUp = setup({ shares: { tenant: { inFlight } }, longestWaitMs, judgedEveryMs: 500, later });
  const message = 'Too many requests of this tenant at once; try again in a moment';
  const refused: string[] = [];
  const enter = (name: string, address = 'a') =>
    setUp.call(name, { address, tenant: 1 }).catch((error: unknown) => {
      t.like(error, { kind: 'tooManyRequests', message });
      refused.push(name);
    });
  for (let n = 0; n < 10; n += 1) void enter(`a${n}`);
  await setUp.end();
  for (let n = 0; n < ends; n += 1) await setUp.end(`a${n}`);
  async function judge() {
    const due = [...judging];
    judging.clear();
    for (const work of due) work();
    await setUp.end();
  }
  return { ...setUp, enter, refused, judge, judging };
}

test('a call that would wait for too long at the pace so far is refused, and those before it are not', async (t) => {
  // Within half a second two calls have ended and another one runs. The estimate counts all three: six calls per second.
  const { queue, refused, judge, end, begun } = await judged(t, { ends: 2, longestWaitMs: 900 });
  await judge();
  t.deepEqual(refused, ['a7', 'a8', 'a9']);
  t.is(queue.waiting, 4);
  for (const name of ['a2', 'a3', 'a4', 'a5']) await end(name);
  t.deepEqual(begun, ['a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'a6']);
});

test('while no call ends, calls are refused that would wait for too long even if all running calls ended now', async (t) => {
  const { queue, refused, judge } = await judged(t, { inFlight: 2, longestWaitMs: 900 });
  await judge();
  t.deepEqual(refused, ['a6', 'a7', 'a8', 'a9']);
  t.is(queue.waiting, 4);
});

test('the wait is estimated again while a call is queued, as the pace may fall', async (t) => {
  const { queue, refused, judge, end, judging } = await judged(t, { ends: 2, longestWaitMs: 1_400 });
  await judge();
  t.deepEqual(refused, []);
  await judge(); // twice the time has passed, but no more calls have ended
  t.deepEqual(refused, ['a6', 'a7', 'a8', 'a9']);
  for (const name of ['a2', 'a3', 'a4']) await end(name);
  t.is(queue.waiting, 0);
  t.is(judging.size, 0);
});

test('calls that end together in rounds are not taken for calls that never end', async (t) => {
  const { refused, judge, end, begun } = await judged(t, { inFlight: 2, longestWaitMs: 4_000 });
  for (let n = 0; n < 8; n += 2) {
    await judge();
    await judge(); // one second per round, so the last call begins after 4 s
    await end(`a${n}`, `a${n + 1}`);
  }
  t.deepEqual(refused, []);
  t.is(begun.length, 10);
});

test("the calls of tenants at their limit are not ahead of a stranger's", async (t) => {
  const judging: (() => void)[] = [];
  const later = (_: number, work: () => void) => {
    judging.push(work);
    return () => undefined;
  };
  const limits = { inFlight: 4, shares: { tenant: { inFlight: 2 } }, longestWaitMs: 3_000, later };
  const { begun, call, end } = setup(limits);
  const refused: string[] = [];
  const enter = (name: string, tenant: number) => call(name, { tenant }).catch(() => refused.push(name));
  for (const tenant of [1, 2]) for (let n = 0; n < 100; n += 1) void enter(`${tenant}: ${n}`, tenant);
  void enter('stranger', 3);
  await end();
  for (const work of judging.splice(0)) work();
  await end();
  t.true(refused.length > 100);
  t.false(refused.includes('stranger'));
  await end('1: 0');
  t.is(begun.at(-1), 'stranger');
});

test("another client of the tenant, and what continues a request, are not refused for one client's calls", async (t) => {
  const { queue, refused, judge, enter } = await judged(t, { ends: 1, longestWaitMs: 1_100 });
  void enter('b', 'b');
  void queue.enter({ address: 'a', tenant: 1 }, () => unabortedSignal, true);
  await judge();
  t.deepEqual(refused, ['a6', 'a7', 'a8', 'a9']);
  t.is(queue.waiting, 6);
});
