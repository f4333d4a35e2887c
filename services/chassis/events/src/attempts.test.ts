import { unavailable } from '@parley/kernel/errors';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { attemptEvent } from './attempts.ts';
import type { Envelope } from './envelope.ts';

const event: Envelope = {
  id: 'e',
  topic: 'happened',
  type: 'happened.v1',
  source: 'test',
  key: '1',
  tenantId: 1,
  time: new Date(0),
  data: new Uint8Array(),
};
type Options = Partial<Parameters<typeof attemptEvent>[1]>;
const attempt = (handler: (signal: AbortSignal) => Promise<void>, options: Options = {}) =>
  attemptEvent(event, {
    group: 'a',
    handler: (_, signal) => handler(signal),
    stopSignal: new AbortController().signal,
    backoffMs: () => 1,
    ...options,
  });

test('an unavailable dependency is waited for without counting attempts', async (t) => {
  let calls = 0;
  const failure = await attempt(
    async () => {
      calls++;
      if (calls <= 20) throw unavailable('The database is not available');
      throw new Error('poison');
    },
    { maxAttempts: 3 },
  );
  t.is(calls, 23);
  t.deepEqual(failure, { attempts: 3, reason: 'Error: poison' });
});

test('an outage does not count against the time of an event', async (t) => {
  const until = performance.now() + 300;
  let isBack = false;
  const failure = await attempt(
    async () => {
      isBack = performance.now() > until;
      if (!isBack) throw unavailable('The database is not available');
    },
    { perEventMs: 80 },
  );
  t.true(isBack);
  t.is(failure, undefined);
});

test('a lock timeout counts as an attempt, because the database answers', async (t) => {
  const lockTimeout = Object.assign(new Error('canceling statement due to lock timeout'), {
    severity: 'ERROR',
    code: '55P03',
  });
  const failure = await attempt(
    async () => {
      throw unavailable('The database is not available', lockTimeout);
    },
    { maxAttempts: 2 },
  );
  t.like(failure, { attempts: 2 });
  t.regex(failure?.reason ?? '', /lock timeout/);
});

test('an attempt that succeeds after its timeout has handled the event, and no other begins meanwhile', async (t) => {
  const committed = createGate();
  let calls = 0;
  const handled = attempt(
    async (signal) => {
      calls++;
      signal.addEventListener('abort', () => committed.open());
      await committed.pass();
    },
    { handlerTimeoutMs: 30, perEventMs: 60_000 },
  );
  t.is(await handled, undefined);
  t.is(calls, 1);
});

test('an attempt that fails after its timeout is followed by the next one', async (t) => {
  let calls = 0;
  const handled = attempt(
    async (signal) => {
      calls++;
      if (calls > 1) return;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      signal.throwIfAborted();
    },
    { handlerTimeoutMs: 30 },
  );
  t.is(await handled, undefined);
  t.is(calls, 2);
});

test('of attempts that never settle only two run at once, and the event fails within its time', async (t) => {
  let calls = 0;
  const startedAt = performance.now();
  const failure = await attempt(
    async () => {
      calls++;
      await new Promise(() => undefined);
    },
    { handlerTimeoutMs: 20, perEventMs: 2_000 },
  );
  t.is(calls, 2);
  // The last attempt gets the remainder of the event's time, which is shorter on a busy machine.
  t.like(failure, { attempts: 2 });
  t.regex(failure?.reason ?? '', /^Error: The handler took longer than \d+ ms$/u);
  t.true(performance.now() - startedAt > 1_900);
});

test('the late success of an attempt counts although later attempts fail', async (t) => {
  const committed = createGate();
  let calls = 0;
  const handled = attempt(
    async () => {
      calls++;
      if (calls === 1) return committed.pass();
      if (calls === 5) committed.open(); // the first attempt commits while the last one fails
      throw new Error('the inbox mark of the first exists');
    },
    { handlerTimeoutMs: 30 },
  );
  t.is(await handled, undefined);
  t.is(calls, 5);
});

test('a stop ends a pause and the wait for a late attempt', async (t) => {
  const stop = new AbortController();
  const pausing = attempt(
    async () => {
      throw unavailable('The database is not available');
    },
    { stopSignal: stop.signal, backoffMs: () => 60_000 },
  );
  let isLate = false;
  const late = attempt(
    async (signal) => {
      signal.addEventListener('abort', () => (isLate = true));
      await new Promise(() => undefined);
    },
    { stopSignal: stop.signal, handlerTimeoutMs: 200 },
  );
  const outcomes = Promise.allSettled([pausing, late]);
  await eventually('one attempt has timed out', () => isLate);
  stop.abort();
  t.deepEqual(
    (await outcomes).map(({ status }) => status),
    ['rejected', 'rejected'],
  );
});
