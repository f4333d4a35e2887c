import { randomBytes } from 'node:crypto';
import { readSettings } from '@parley/kernel/settings/config';
import { fileSettings } from '@parley/kernel/settings/shared-settings';
import { absentObjectStore } from '@parley/objects/object-store';
import test from 'ava';
import { connectService } from './connect-service.ts';
import { processEventBus } from './process-event-bus.ts';

const env = { MESH_KEY: randomBytes(32).toString('base64') };
const production = { NODE_ENV: 'production', LOG_LEVEL: 'loud' };
const everything = {
  schema: 'session',
  events: processEventBus,
  files: (given: Record<string, string | undefined>) => {
    readSettings(given, fileSettings);
    return absentObjectStore();
  },
};

test('engines that a service does not declare are neither required nor connected, and calls to them fail', async (t) => {
  const { objectStore, eventBus, keyValue, stop } = connectService(env, {});
  t.like(await t.throwsAsync(objectStore.head('tenants/1/a')), { kind: 'unavailable' });
  await t.throwsAsync(eventBus.publish([]), { message: 'This service declares no events' });
  await keyValue.ping();
  await stop();

  const { message } = t.throws(() => connectService(production, {}));
  t.regex(message, /REDIS_URL: /u);
  t.notRegex(message, /KAFKA|S3|DATABASE/u);
});

test('in production every engine that it needs is required, and reported with all other problems', (t) => {
  const { message } = t.throws(() => connectService({ ...production, DATABASE_POOL_SIZE: 'many' }, everything));
  for (const name of ['REDIS_URL', 'KAFKA_BROKERS', 'S3_ENDPOINT']) {
    t.true(message.includes(`\n  ${name}: is missing, and NODE_ENV is production`), message);
  }
  for (const name of ['DATABASE_URL or SESSION_DATABASE_URL', 'DATABASE_POOL_SIZE', 'MESH_KEY', 'LOG_LEVEL']) {
    t.true(message.includes(`\n  ${name}: `), message);
  }
});

test('only a unit that has a schema needs a database', async (t) => {
  const schema = 'session';
  t.throws(() => connectService(env, { schema }), { message: /SESSION_DATABASE_URL: is missing/ });
  await connectService(env, {}).stop();
  await connectService({ ...env, SESSION_DATABASE_URL: 'postgres://localhost/parley' }, { schema }).stop();
});
