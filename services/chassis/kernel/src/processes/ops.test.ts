import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { createMetrics } from '../telemetry/metrics.ts';
import { opsServer } from './ops.ts';

async function served(t: ExecutionContext, ready: () => Promise<void> = async () => undefined, host = '127.0.0.1') {
  const metrics = createMetrics('test');
  let url = '';
  const server = opsServer({ unit: 'test', host, port: 0, metrics, ready, onListening: (address) => (url = address) });
  t.teardown(() => server.stop());
  await server.start();
  return { metrics, get: (path: string) => fetch(`${url}${path}`) };
}

test('many requests at once cost a few checks and a few collections', async (t) => {
  let checks = 0;
  let collections = 0;
  const { metrics, get } = await served(t, async () => {
    checks += 1;
    await delay(5);
  });
  metrics.gauge('test_value', 'A value', () => {
    collections += 1;
    return collections;
  });
  const responses = await Promise.all(
    Array.from({ length: 200 }, (_, n) => get(n % 2 === 0 ? '/readyz' : '/metrics').then(({ status }) => status)),
  );
  t.deepEqual([...new Set(responses)], [200]);
  t.true(checks <= 20, `${checks} checks`);
  t.true(collections <= 20, `${collections} collections`);
});

test('an answer is never older than its request', async (t) => {
  let reason = 'the first reason';
  const { get } = await served(t, async () => {
    throw new Error(reason);
  });
  const text = async () => (await get('/readyz')).text();
  t.is(await text(), 'the first reason\n');
  reason = 'the second reason';
  t.is(await text(), 'the second reason\n');
});

test('metrics report the readiness as of the last check', async (t) => {
  let isReady = true;
  const { get } = await served(t, async () => {
    if (!isReady) throw new Error('no database');
  });
  const ready = async () => /^parley_ready\{unit="test"\} (\d)$/mu.exec(await (await get('/metrics')).text())?.[1];
  await get('/readyz');
  t.is(await ready(), '1');
  isReady = false;
  await get('/readyz');
  t.is(await ready(), '0');
  isReady = true;
  await eventually('it is ready again, though only metrics are asked for', async () => (await ready()) === '1');
});

test('a check that hangs delays no metrics', async (t) => {
  const { get } = await served(t, () => new Promise(() => undefined));
  t.regex(await (await get('/metrics')).text(), /^parley_ready\{unit="test"\} 0$/mu);
});

test('a gauge that fails or hangs is missing from metrics, which have all others', async (t) => {
  const { metrics, get } = await served(t);
  let reads = 0;
  const hangs = Promise.withResolvers<number>();
  const fails = () => Promise.reject(new Error('no database'));
  const throws = () => {
    throw new Error('a bug');
  };
  const values = [() => 7, fails, throws, () => hangs.promise];
  metrics.gauge('test_broken', 'A value', () => values[reads++]?.() ?? 8);
  metrics.gauge('test_sound', 'Another value', () => 1);
  const broken = async () => {
    const text = await (await get('/metrics')).text();
    t.true(text.includes('test_sound{unit="test"} 1'), text);
    return /^test_broken.*$/mu.exec(text)?.[0];
  };
  t.is(await broken(), 'test_broken{unit="test"} 7');
  t.is(await broken(), undefined, 'it fails');
  t.is(await broken(), undefined, 'it throws');
  t.is(await broken(), undefined, 'it hangs');
  t.is(await broken(), undefined, 'it still hangs');
  t.is(reads, 4, 'and is not asked again meanwhile');
  hangs.resolve(9);
  t.is(await broken(), 'test_broken{unit="test"} 8');
});

test('a server on an IPv6 address announces a URL that reaches it', async (t) => {
  const { get } = await served(t, undefined, '::1');
  t.is((await get('/readyz')).status, 200);
});
