import { createServer } from 'node:net';
import { listen } from '@parley/kernel/http/listen';
import { units } from '@parley/units';
import test, { type ExecutionContext } from 'ava';
import { diagnose } from './diagnose.ts';
import { everySetting } from './testing/every-setting.ts';

/** Starts an engine that closes each connection and counts the connections. */
async function engine(t: ExecutionContext) {
  let calls = 0;
  const server = createServer((socket) => {
    calls += 1;
    socket.on('error', () => undefined).destroy();
  });
  const at = await listen(server);
  t.teardown(() => server.close());
  return { at, calls: () => calls };
}

/** Returns how often each engine is called, for an installation in which `own` gives each unit additional settings. */
async function callsTo(t: ExecutionContext, own: (unit: string, at: number) => Record<string, string>) {
  const [redis, s3, mail] = [await engine(t), await engine(t), await engine(t)];
  const env = {
    ...everySetting('127.0.0.1:1'),
    REDIS_URL: `redis://${redis.at}`,
    S3_ENDPOINT: `http://${s3.at}`,
    SMTP_URL: `smtp://${mail.at}`,
  };
  const planned = Object.fromEntries(
    units.map(({ name }, at) => [name, { processes: 1, env: { ...env, ...own(name, at) } }]),
  );
  await diagnose({ env, planned, units, allUnits: units, now: Date.now, patienceMs: 10_000 });
  return { redis: redis.calls(), s3: s3.calls(), mail: mail.calls() };
}

test('an engine is checked once for all units that reach it alike, whatever else they are given', async (t) => {
  const once = await callsTo(t, () => ({}));
  t.true(once.redis > 0 && once.s3 > 0 && once.mail > 0);
  const others = (name: string, at: number) => ({ LOG_LEVEL: at % 2 ? 'info' : 'warn', PARLEY_HOST: name });
  t.deepEqual(await callsTo(t, others), once);
  const elsewhere = await callsTo(t, (_, at) => ({ S3_REGION: `region-${at}` }));
  t.deepEqual(elsewhere, { ...once, s3: units.filter(({ keepsFiles }) => keepsFiles).length * once.s3 });
});
