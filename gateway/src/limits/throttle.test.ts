import { unavailable } from '@parley/chassis/errors';
import type { CountEntry } from '@parley/chassis/key-value/key-value';
import { memoryKeyValue } from '@parley/chassis/key-value/memory-key-value';
import { createLogger } from '@parley/chassis/log';
import test from 'ava';
import type { FieldRules } from '../graph/field-rules.ts';
import type { RootField } from '../graph/root-fields.ts';
import { createThrottle, throttleHeaders, throttleMessage } from './throttle.ts';

const rules: FieldRules = new Map([
  ['Mutation.login', { by: [], subgraph: 'identity', throttle: { requests: 3, windowSeconds: 60 } }],
  ['Mutation.register', { by: [], subgraph: 'identity', throttle: { requests: 2, windowSeconds: 300 } }],
  ['Mutation.refreshToken', { by: [], subgraph: 'identity', throttle: { requests: 2, windowSeconds: 60 } }],
  ['Mutation.runWorkflowTask', { by: ['JWT'], subgraph: 'agent', throttle: { requests: 2, windowSeconds: 60 } }],
  ['Mutation.sendMessage', { by: ['JWT'], subgraph: 'session' }],
]);
const of = (...names: string[]): RootField[] => names.map((name) => ({ type: 'Mutation', name }));
const client = '203.0.113.9';

function setup() {
  let now = 0;
  let away = false;
  const calls: CountEntry[][] = [];
  const shared = memoryKeyValue({ now: () => now });
  let degraded = 0;
  const keyValue = {
    countAll: async (entries: CountEntry[]) => {
      calls.push(entries);
      if (away) throw unavailable('away');
      return shared.countAll(entries);
    },
  };
  const complaints: string[] = [];
  const log = createLogger('test');
  log.warn = (_about: unknown, message?: unknown) => void complaints.push(String(message));
  const throttle = () => createThrottle({ rules, keyValue, onDegraded: () => void degraded++, log, now: () => now });
  return {
    throttle,
    calls,
    complaints,
    degraded: () => degraded,
    pass: (ms: number) => {
      now += ms;
    },
    cut: (gone = true) => {
      away = gone;
    },
  };
}

test('so many pass in a window and the next is refused, until the window ends', async (t) => {
  const { throttle, pass } = setup();
  const ask = throttle();
  for (const left of [2, 1, 0]) t.like(await ask(of('login'), client), { windows: [{ operation: 'login', left }] });
  pass(17_500);
  const refused = await ask(of('login'), client);
  t.deepEqual(refused?.refused, { operation: 'login', requests: 3, windowSeconds: 60, left: 0, endsInSeconds: 43 });
  pass(42_499);
  t.is((await ask(of('login'), client))?.refused?.endsInSeconds, 1);
  pass(1);
  t.is((await ask(of('login'), client))?.refused, undefined);
});

test('every gateway counts in the same windows, every client and operation in its own', async (t) => {
  const { throttle } = setup();
  const [one, other] = [throttle(), throttle()];
  await one(of('login'), client);
  await other(of('login'), client);
  await one(of('login'), client);
  t.truthy((await other(of('login'), client))?.refused);
  t.falsy((await other(of('login'), '203.0.113.10'))?.refused);
  t.falsy((await other(of('register'), client))?.refused);
});

test('an IPv6 client is its /64', async (t) => {
  const ask = setup().throttle();
  for (let i = 1; i <= 3; i++) t.falsy((await ask(of('login'), `2001:db8:1:2:${i}::${i}`))?.refused);
  t.truthy((await ask(of('login'), '2001:db8:1:2:ffff::'))?.refused);
  t.falsy((await ask(of('login'), '2001:db8:1:3::'))?.refused);
});

test('aliases count one each, and a request that is refused counts nothing at all', async (t) => {
  const { throttle, calls } = setup();
  const ask = throttle();
  t.truthy((await ask(of('login', 'login', 'login', 'login'), client))?.refused);
  t.truthy((await ask(of('login', 'register', 'register', 'register'), client))?.refused);
  t.like(await ask(of('login', 'login', 'login', 'register'), client), { windows: [{ left: 0 }, { left: 1 }] });
  t.truthy((await ask(of('register', 'login'), client))?.refused);
  t.like(await ask(of('register'), client), { windows: [{ left: 0 }] });
  t.deepEqual(
    calls.map((entries) => entries.length),
    [1, 2, 2, 2, 1],
    'one step a request',
  );
});

test('what has no throttle is not even counted', async (t) => {
  const { throttle, calls } = setup();
  const ask = throttle();
  t.is(await ask(of(...Array.from({ length: 40 }, () => 'sendMessage')), client), undefined);
  t.is(calls.length, 0);
});

test('while counts cannot be reached, sign-in is unavailable and what guesses at nothing is counted by each process', async (t) => {
  const { throttle, cut, degraded, complaints, pass } = setup();
  const [one, other] = [throttle(), throttle()];
  cut();
  await t.throwsAsync(one(of('login'), client), { message: /not available/ });
  await t.throwsAsync(one(of('runWorkflowTask', 'login'), client), { message: /not available/ });
  for (const left of [1, 0]) t.like(await one(of('runWorkflowTask'), client), { windows: [{ left }] });
  t.truthy((await one(of('runWorkflowTask'), client))?.refused);
  t.like(await one(of('refreshToken'), client), { windows: [{ left: 1 }] });
  t.falsy((await other(of('runWorkflowTask'), client))?.refused);
  t.is(degraded(), 7);
  t.is(complaints.length, 2, 'once by each process');
  pass(30_000);
  await one(of('runWorkflowTask'), '203.0.113.11');
  t.is(complaints.length, 3);
  cut(false);
  t.falsy((await one(of('login'), client))?.refused);
});

test('no window is told to be longer than it is, however the clock rounds', async (t) => {
  const endsInMs = 60_001;
  const ask = createThrottle({
    rules,
    keyValue: {
      countAll: async ([entry]) => {
        const { key, requests } = entry as CountEntry;
        return { counted: true, windows: [{ key, requests, count: 1, endsInMs }] };
      },
    },
    onDegraded: () => t.fail(),
    log: createLogger('test'),
  });
  t.like(await ask(of('login'), client), { windows: [{ endsInSeconds: 60 }] });
});

test('a mistake in counting is not taken for an outage', async (t) => {
  const ask = createThrottle({
    rules,
    keyValue: { countAll: () => Promise.reject(new TypeError('no counter')) },
    onDegraded: () => t.fail(),
    log: createLogger('test'),
  });
  await t.throwsAsync(ask(of('runWorkflowTask'), client), { message: 'no counter' });
});

test('headers tell policy, what is left and when to come again', async (t) => {
  const { throttle, pass } = setup();
  const ask = throttle();
  const first = await ask(of('login', 'register'), client);
  t.deepEqual(first && throttleHeaders(first), [
    ['ratelimit-policy', '"login";q=3;w=60, "register";q=2;w=300'],
    ['ratelimit', '"login";r=2;t=60, "register";r=1;t=300'],
  ]);
  pass(500);
  const refused = await ask(of('login', 'login', 'login'), client);
  t.deepEqual(refused && throttleHeaders(refused), [
    ['retry-after', '60'],
    ['ratelimit-policy', '"login";q=3;w=60'],
    ['ratelimit', '"login";r=2;t=60'],
  ]);
  t.regex(refused?.refused ? throttleMessage(refused.refused) : '', /login takes 3 requests in 60 seconds/);
});
