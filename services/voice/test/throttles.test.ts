import { unavailable } from '@parley/kernel/errors';
import { createLogger } from '@parley/kernel/telemetry/log';
import type { KeyValue } from '@parley/live/key-value/key-value';
import { memoryKeyValue } from '@parley/live/key-value/memory-key-value';
import { redisEngines } from '@parley/live/redis/redis-engines';
import test from 'ava';
import { requestsPerMinute } from '../src/http/voice-throttle.ts';
import { type Answer, voiceApp, voiceToken, voiceTokenFor } from './voice-app.ts';

const limits = Object.entries({ '/tts': 30, '/tts/google': 30, '/tts/stream': 30, '/stt': 10, '/avatar-session': 10 });

test('the limits are the documented ones, and streams have the limits of /tts', (t) => {
  t.deepEqual(Object.entries(requestsPerMinute), limits);
});

const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
/** The parts of a response that clients see. */
const seen = ({ status, headers, body }: Answer) => ({
  status,
  body,
  headers: [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name)),
});

for (const [route, limit] of limits) {
  test(`${route}: one address has ${limit} requests a minute, with or without a token, and a window of its own`, async (t) => {
    const { ask } = await voiceApp(t);
    for (let i = 0; i < limit; i += 1) {
      const token = i % 2 === 0 ? voiceToken(i + 1) : null;
      t.is(
        (await ask(route, {}, { token, ...from('203.0.113.1') })).status,
        token ? (route === '/avatar-session' ? 403 : 400) : 401,
      );
    }
    const refused = await ask(route, {}, from('203.0.113.1'));
    t.is(refused.status, 429);
    t.deepEqual(refused.body, {
      error: { code: 'TOO_MANY_REQUESTS', message: 'Too many requests; try again in a minute' },
    });
    t.is(refused.headers.get('retry-after'), '60');
    t.not((await ask(route, {}, from('203.0.113.2'))).status, 429);
    const [other = ''] = limits.map(([each]) => each).filter((each) => each !== route);
    t.not((await ask(other, {}, from('203.0.113.1'))).status, 429);
  });
}

test('calls of a unit on behalf of clients count for the address of each client', async (t) => {
  const { ask } = await voiceApp(t);
  const unit = from('203.0.113.1');
  for (let client = 1; client <= 3; client += 1) {
    const token = voiceTokenFor(`198.51.100.${client}`);
    for (let i = 0; i < 10; i += 1) t.is((await ask('/stt', {}, { token, ...unit })).status, 400);
    t.is((await ask('/stt', {}, { token, ...unit })).status, 429);
    t.is((await ask('/stt', {}, { token: null, ...from(`198.51.100.${client}`) })).status, 429, 'the same count');
  }
  t.is((await ask('/stt', {}, unit)).status, 400);
});

test('a tenant has twenty times the limit over all addresses, and its refusal looks like that of an address', async (t) => {
  const { ask } = await voiceApp(t);
  const route = '/stt';
  for (let i = 0; i < 200; i += 1) {
    const { status } = await ask(route, {}, from(`198.51.100.${i % 40}`));
    t.is(status, 400);
  }
  const ofTenant = await ask(route, {}, from('203.0.113.9'));
  t.is(ofTenant.status, 429);
  t.not((await ask(route, {}, { token: voiceToken(2), ...from('203.0.113.9') })).status, 429, 'another tenant');
  for (let i = 0; i < 9; i += 1) {
    const { status } = await ask(route, {}, { token: null, ...from('203.0.113.9') });
    t.is(status, 401, 'without a token, the address alone counts; the refused request has counted nothing');
  }
  const ofAddress = await ask(route, {}, { token: null, ...from('203.0.113.9') });
  t.deepEqual(seen(ofAddress), seen(ofTenant));
});

test('an IPv6 client is its /64', async (t) => {
  const { ask } = await voiceApp(t);
  for (let i = 0; i < 10; i += 1) await ask('/stt', {}, from(`2001:db8:1:2::${i + 1}`));
  t.is((await ask('/stt', {}, from('2001:db8:1:2:3::4'))).status, 429);
  t.not((await ask('/stt', {}, from('2001:db8:1:3::1'))).status, 429);
});

async function sharedByReplicas(t: Parameters<typeof voiceApp>[0], keyValues: KeyValue[], tenantId: number) {
  const replicas = await Promise.all(keyValues.map((keyValue) => voiceApp(t, {}, { keyValue })));
  const network = `10.${tenantId % 250}.${Math.floor(tenantId / 250) % 250}`;
  const token = voiceToken(tenantId);
  const asked = replicas.flatMap(({ ask }) =>
    Array.from({ length: 120 }, (_, i) => ask('/stt', {}, { token, ...from(`${network}.${i % 40}`) })),
  );
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  t.is(statuses.filter((status) => status === 400).length, 200);
  t.is(statuses.filter((status) => status === 429).length, 40);
}

test('replicas share their counts', async (t) => {
  const keyValue = memoryKeyValue();
  await sharedByReplicas(t, [keyValue, keyValue], 1);
});

const redisUrl = process.env.TEST_REDIS_URL;
const redisTest = redisUrl || process.env.CI ? test : test.skip;

redisTest('replicas count together on Redis', async (t) => {
  const log = createLogger('redis', { LOG_LEVEL: 'silent' });
  const engines = [redisEngines(redisUrl ?? '', log), redisEngines(redisUrl ?? '', log)];
  for (const engine of engines) {
    await engine.start();
    t.teardown(() => engine.stop());
  }
  const tenantId = 1 + Math.floor(Math.random() * 2_000_000_000);
  await sharedByReplicas(
    t,
    engines.map(({ keyValue }) => keyValue),
    tenantId,
  );
});

test('during an outage of Redis each process counts alone and reports that in its metrics', async (t) => {
  const broken = { ...memoryKeyValue(), countAll: () => Promise.reject(unavailable('Redis is away')) };
  const { ask, metrics } = await voiceApp(t, {}, { keyValue: broken });
  for (let i = 0; i < 10; i += 1) t.is((await ask('/stt', {}, from('203.0.113.1'))).status, 400);
  t.is((await ask('/stt', {}, from('203.0.113.1'))).status, 429);
  t.regex(await metrics(), /parley_throttle_degraded_total\{[^}]*unit="voice"[^}]*\} 11/u);
});
