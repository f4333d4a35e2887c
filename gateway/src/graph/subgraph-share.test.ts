import { setImmediate } from 'node:timers/promises';
import type { Caller } from '@parley/kernel/caller';
import { fairQueue } from '@parley/kernel/queues/fair-queue';
import test from 'ava';
import { readGatewayConfig } from '../config.ts';
import { attemptLimits, attemptSharesOf, sharesOf } from './subgraph-share.ts';

const { subgraphCalls } = readGatewayConfig({
  AVATAR_TOKEN_KEYS: `t1:${Buffer.alloc(32).toString('base64')}`,
  GATEWAY_SUBGRAPH_CALLS_PER_TENANT: '2',
  GATEWAY_SUBGRAPH_CALLS_PER_CLIENT: '1',
  GATEWAY_SUBGRAPH_WAITING_PER_TENANT: '300',
});

/** A queue of attempts; `endFirst` ends the call that has run the longest. */
function setup() {
  const later = () => () => undefined; // no estimate of waits, because the queued calls outlive the test
  const queue = fairQueue({ ...attemptLimits(subgraphCalls), later });
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const attempt = async (address: string) => {
    const end = await queue.enter(attemptSharesOf(address), () => new AbortController().signal);
    begun.push(address);
    ends.push(end);
  };
  const endFirst = async () => {
    ends.shift()?.();
    await setImmediate();
  };
  return { queue, begun, attempt, endFirst };
}

test('attempts share by /24 and /16, or by /48 and /32', (t) => {
  t.deepEqual(attemptSharesOf('203.0.113.9'), { site: '203.0.113.0/24', provider: '203.0.0.0/16' });
  t.deepEqual(attemptSharesOf('2001:db8:1:2::/64'), { site: '2001:db8:1::/48', provider: '2001:db8::/32' });
  t.deepEqual(attemptSharesOf('unknown'), { site: 'unknown', provider: 'unknown' });
});

test('a flood from many networks of one /16 delays an attempt from elsewhere by only one attempt', async (t) => {
  const { begun, attempt, endFirst } = setup();
  for (let n = 0; n < 256; n += 1) void attempt(`198.51.${n}.1`);
  void attempt('203.0.113.9');
  await setImmediate();
  t.is(begun.length, 2, 'all attempts together have the share of a tenant');
  await endFirst();
  await endFirst();
  t.deepEqual(begun, ['198.51.0.1', '198.51.1.1', '198.51.2.1', '203.0.113.9']);
});

test('within a /16 each /24 has its turn and its limit', async (t) => {
  const { begun, attempt, endFirst } = setup();
  for (let n = 1; n < 5; n += 1) void attempt(`198.51.100.${n}`);
  void attempt('198.51.101.1');
  void attempt('198.51.102.1');
  await setImmediate();
  t.deepEqual(begun, ['198.51.100.1', '198.51.101.1']);
  await endFirst();
  await endFirst();
  t.deepEqual(begun.slice(2).toSorted(), ['198.51.100.2', '198.51.102.1']);
});

test('a full queue of attempts refuses as too many of those who are not signed in', async (t) => {
  const { attempt } = setup();
  for (let n = 0; n < 302; n += 1) void attempt(`10.${n % 200}.${n >> 7}.1`);
  await setImmediate();
  t.like(await t.throwsAsync(attempt('203.0.113.9')), {
    kind: 'tooManyRequests',
    message: 'Too many requests of callers who are not signed in at once; try again in a moment',
  });
});

test('new and known attempts and all other calls without a sign-in have a share each', (t) => {
  const caller: Caller = { kind: 'anonymous', tenantId: null, requestId: 'test' };
  t.deepEqual(sharesOf(caller, '192.0.2.7', 'new'), { anonymous: 'new attempts' });
  t.deepEqual(sharesOf(caller, '192.0.2.7', 'known'), { anonymous: 'known attempts' });
  t.deepEqual(sharesOf(caller, '192.0.2.7', undefined), { address: '192.0.2.7', anonymous: 'others' });
});
