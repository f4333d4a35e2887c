import { unavailable } from '@parley/kernel/errors';
import { createLogger } from '@parley/kernel/telemetry/log';
import type { CountEntry } from '@parley/live/key-value/key-value';
import { memoryKeyValue } from '@parley/live/key-value/memory-key-value';
import test from 'ava';
import type { FieldRules } from '../graph/field-rules.ts';
import type { RootField } from '../graph/root-fields.ts';
import { createThrottle, throttleHeaders, throttleMessage } from './throttle.ts';

const rules: FieldRules = new Map([
  ['Mutation.enter', { by: [], throttle: { requests: 3, windowSeconds: 60, failsClosed: true } }],
  ['Mutation.join', { by: [], throttle: { requests: 2, windowSeconds: 300, failsClosed: true } }],
  ['Mutation.renew', { by: [], throttle: { requests: 2, windowSeconds: 60 } }],
  ['Mutation.run', { by: ['JWT'], throttle: { requests: 2, windowSeconds: 60 } }],
  ['Mutation.say', { by: ['JWT'] }],
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
  const warnings: string[] = [];
  const log = createLogger('test');
  log.warn = (_about: unknown, message?: unknown) => void warnings.push(String(message));
  const throttle = () => createThrottle({ rules, keyValue, onDegraded: () => void degraded++, log, now: () => now });
  return {
    throttle,
    calls,
    warnings,
    degraded: () => degraded,
    pass: (ms: number) => {
      now += ms;
    },
    cut: (isCut = true) => {
      away = isCut;
    },
  };
}

test('limits: windows are fixed; requests over the limit are refused until the window ends', async (t) => {
  const { throttle, pass } = setup();
  const ask = throttle();
  for (const remaining of [2, 1, 0])
    t.like(await ask(of('enter'), client), { windows: [{ operation: 'enter', remaining }] });
  pass(17_500);
  const refused = await ask(of('enter'), client);
  t.deepEqual(refused?.refused, {
    operation: 'enter',
    requests: 3,
    windowSeconds: 60,
    remaining: 0,
    endsInSeconds: 43,
  });
  pass(42_499);
  t.is((await ask(of('enter'), client))?.refused?.endsInSeconds, 1);
  pass(1);
  t.is((await ask(of('enter'), client))?.refused, undefined);
});

test('windows are shared by gateways and separate per client and operation', async (t) => {
  const { throttle } = setup();
  const [one, other] = [throttle(), throttle()];
  await one(of('enter'), client);
  await other(of('enter'), client);
  await one(of('enter'), client);
  t.truthy((await other(of('enter'), client))?.refused);
  t.falsy((await other(of('enter'), '203.0.113.10'))?.refused);
  t.falsy((await other(of('join'), client))?.refused);
});

test('an IPv6 client is its /64', async (t) => {
  const ask = setup().throttle();
  for (let i = 1; i <= 3; i++) t.falsy((await ask(of('enter'), `2001:db8:1:2:${i}::${i}`))?.refused);
  t.truthy((await ask(of('enter'), '2001:db8:1:2:ffff::'))?.refused);
  t.falsy((await ask(of('enter'), '2001:db8:1:3::'))?.refused);
});

test('each alias counts, and a refused request does not', async (t) => {
  const { throttle, calls } = setup();
  const ask = throttle();
  t.truthy((await ask(of('enter', 'enter', 'enter', 'enter'), client))?.refused);
  t.truthy((await ask(of('enter', 'join', 'join', 'join'), client))?.refused);
  t.like(await ask(of('enter', 'enter', 'enter', 'join'), client), { windows: [{ remaining: 0 }, { remaining: 1 }] });
  t.truthy((await ask(of('join', 'enter'), client))?.refused);
  t.like(await ask(of('join'), client), { windows: [{ remaining: 0 }] });
  t.deepEqual(
    calls.map((entries) => entries.length),
    [1, 2, 2, 2, 1],
    'one step a request',
  );
});

test('operations without a throttle are not counted', async (t) => {
  const { throttle, calls } = setup();
  const ask = throttle();
  t.is(await ask(of(...Array.from({ length: 40 }, () => 'say')), client), undefined);
  t.is(calls.length, 0);
});

test('while counts are unavailable, sign-in is refused and other operations are counted per process', async (t) => {
  const { throttle, cut, degraded, warnings, pass } = setup();
  const [one, other] = [throttle(), throttle()];
  cut();
  await t.throwsAsync(one(of('enter'), client), { message: /not available/ });
  await t.throwsAsync(one(of('run', 'enter'), client), { message: /not available/ });
  for (const remaining of [1, 0]) t.like(await one(of('run'), client), { windows: [{ remaining }] });
  t.truthy((await one(of('run'), client))?.refused);
  t.like(await one(of('renew'), client), { windows: [{ remaining: 1 }] });
  t.falsy((await other(of('run'), client))?.refused);
  t.is(degraded(), 7);
  t.is(warnings.length, 2, 'once by each process');
  pass(30_000);
  await one(of('run'), '203.0.113.11');
  t.is(warnings.length, 3);
  cut(false);
  t.falsy((await one(of('enter'), client))?.refused);
});

test('a reported window end never exceeds the window', async (t) => {
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
  t.like(await ask(of('enter'), client), { windows: [{ endsInSeconds: 60 }] });
});

test('an unexpected error while counting is not treated as an outage', async (t) => {
  const ask = createThrottle({
    rules,
    keyValue: { countAll: () => Promise.reject(new TypeError('no counter')) },
    onDegraded: () => t.fail(),
    log: createLogger('test'),
  });
  await t.throwsAsync(ask(of('run'), client), { message: 'no counter' });
});

test('headers report policy, remaining requests and when to retry', async (t) => {
  const { throttle, pass } = setup();
  const ask = throttle();
  const first = await ask(of('enter', 'join'), client);
  t.deepEqual(first && throttleHeaders(first), [
    ['ratelimit-policy', '"enter";q=3;w=60, "join";q=2;w=300'],
    ['ratelimit', '"enter";r=2;t=60, "join";r=1;t=300'],
  ]);
  pass(500);
  const refused = await ask(of('enter', 'enter', 'enter'), client);
  t.deepEqual(refused && throttleHeaders(refused), [
    ['retry-after', '60'],
    ['ratelimit-policy', '"enter";q=3;w=60'],
    ['ratelimit', '"enter";r=2;t=60'],
  ]);
  t.regex(refused?.refused ? throttleMessage(refused.refused) : '', /enter takes 3 requests in 60 seconds/);
});
