import { setImmediate as tick } from 'node:timers/promises';
import type { Caller } from '@parley/kernel/caller';
import test, { type ExecutionContext } from 'ava';
import { subscriptionStarts } from './subscription-starts.ts';

const unabortedSignal = new AbortController().signal;
const limits = { shares: { address: { inFlight: 2, waiting: 1 }, tenant: { inFlight: 3, waiting: 2 } } };
const from = (ip: string, tenantId = 1): Caller => ({ kind: 'user', tenantId, ip, requestId: 'r-1' });

/** Records which subscriptions have started, in order. */
function setup(t: ExecutionContext, longestMs = 60_000) {
  const starts = subscriptionStarts({ limits, timeoutMs: 60_000, longestMs });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  async function begin(name: string, caller: Caller, signal = unabortedSignal) {
    const end = await starts.begin(caller, signal);
    begun.push(name);
    ends.set(name, end);
    // The timer of a start that has not ended would keep the process alive.
    t.teardown(end);
  }
  return { starts, begun, begin, end: (name: string) => ends.get(name)?.() };
}

test('starting subscriptions of a client network are bounded, and a full queue refuses', async (t) => {
  const { starts, begun, begin, end } = setup(t);
  for (const name of ['a1', 'a2', 'a3']) void begin(name, from(`2001:db8::${name}`));
  t.like(await t.throwsAsync(begin('a4', from('2001:db8::4'))), { kind: 'tooManyRequests' });
  await begin('b', from('192.0.2.1'));
  t.deepEqual(begun, ['a1', 'a2', 'b']);
  t.is(starts.waiting, 1);
  end('a1');
  await tick();
  t.deepEqual(begun, ['a1', 'a2', 'b', 'a3']);
});

test('starting subscriptions of a tenant are bounded over all its clients, apart from those of others', async (t) => {
  const { begun, begin, end } = setup(t);
  const all = [1, 2, 3, 4, 5].map((n) => begin(`a${n}`, from(`192.0.2.${n}`)));
  t.like(await t.throwsAsync(begin('a6', from('192.0.2.6'))), { kind: 'tooManyRequests' });
  await begin('b', from('192.0.2.1', 2));
  t.deepEqual(begun, ['a1', 'a2', 'a3', 'b']);
  end('a1');
  end('a2');
  await Promise.all(all);
});

test('an aborted subscription never starts', async (t) => {
  const { starts, begun, begin, end } = setup(t);
  await begin('a1', from('192.0.2.1'));
  await begin('a2', from('192.0.2.1'));
  const leaving = new AbortController();
  const left = begin('a3', from('192.0.2.1'), leaving.signal);
  leaving.abort();
  await t.throwsAsync(left, { name: 'AbortError' });
  t.is(starts.waiting, 0);
  end('a1');
  await begin('a4', from('192.0.2.1'));
  t.deepEqual(begun, ['a1', 'a2', 'a4']);
});

test('a subscription that never reports its start delays the next one only briefly', async (t) => {
  const { begun, begin } = setup(t, 1);
  await Promise.all(['a1', 'a2', 'a3'].map((name) => begin(name, from('192.0.2.1'))));
  t.deepEqual(begun, ['a1', 'a2', 'a3']);
});
