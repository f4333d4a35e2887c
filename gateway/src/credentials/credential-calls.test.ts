import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { credentialCalls } from './credential-calls.ts';

const limits = { shares: { address: { inFlight: 1, waiting: 1 }, tenant: {} } };

test('lookups of one client are queued without delaying others, and a full queue refuses', async (t) => {
  const calls = credentialCalls({ limits });
  const gate = createGate();
  const ip = '192.0.2.1';
  const first = calls.queued({ ip }, () => gate.pass());
  const second = calls.queued({ ip }, async () => 'second');
  t.like(await t.throwsAsync(calls.queued({ ip }, async () => t.fail())), { kind: 'tooManyRequests' });
  const begun = calls.queued({ ip, begun: true }, async () => 'begun');
  t.is(calls.waiting, 2);
  t.is(await calls.queued({ ip: '192.0.2.2' }, async () => 'other'), 'other');
  gate.open();
  await first;
  t.deepEqual(await Promise.all([second, begun]), ['second', 'begun']);
});

test('a failed call releases its slot', async (t) => {
  const calls = credentialCalls({ limits });
  const ask = () => calls.queued({ ip: '2001:db8::1' }, () => Promise.reject(new Error('away')));
  for (let n = 0; n < 3; n += 1) await t.throwsAsync(ask(), { message: 'away' });
});

test('checks of open sockets overtake requests and new sockets of the same client; each purpose has its own bound', async (t) => {
  const calls = credentialCalls({ limits, newSocketsWaiting: 2 });
  const gate = createGate();
  const ip = '192.0.2.1';
  const asked = (['request', 'newSocket', 'newSocket'] as const).flatMap((purpose) => [
    calls.queued({ ip, purpose }, gate.pass),
  ]);
  const waiting = [
    calls.queued({ ip, purpose: 'request' }, gate.pass),
    calls.queued({ ip, purpose: 'newSocket' }, gate.pass),
  ];
  for (const purpose of ['request', 'newSocket'] as const) {
    const more = calls.queued({ ip, purpose }, async () => t.fail());
    t.like(await t.throwsAsync(more), { kind: 'tooManyRequests' }, purpose);
  }
  t.is(await calls.queued({ ip, purpose: 'openSocket' }, async () => 'open'), 'open');
  gate.open();
  await Promise.all([...asked, ...waiting]);
  t.is(calls.waiting, 0);
});

test('an aborted lookup leaves the queue', async (t) => {
  const calls = credentialCalls({ limits });
  const gate = createGate();
  const ip = '192.0.2.1';
  const first = calls.queued({ ip }, gate.pass);
  const closed = new AbortController();
  const left = calls.queued({ ip, signal: closed.signal }, async () => t.fail());
  t.is(calls.waiting, 1);
  closed.abort();
  await t.throwsAsync(left, { name: 'AbortError' });
  t.is(calls.waiting, 0);
  gate.open();
  await first;
});
