import { randomBytes } from 'node:crypto';
import test from 'ava';
import { connectService } from './connect-service.ts';

const env = { MESH_KEY: randomBytes(32).toString('base64') };
const key = 'tenants/1/a';
const s3 = {
  S3_ENDPOINT: 'http://127.0.0.1:1',
  S3_PUBLIC_ENDPOINT: 'https://files.example.com',
  S3_BUCKET: 'parley',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: 'secret',
};

test('a process of its own keeps files in its configured bucket', async (t) => {
  const { objectStore, stop } = connectService({ ...env, ...s3 });
  const { url } = await objectStore.presignGet({ key, expiresInMs: 60_000 });
  t.true(url.startsWith('https://files.example.com/parley/tenants/1/a?'));
  await stop();
  t.like(await t.throwsAsync(objectStore.head(key)), { kind: 'unavailable' });
});

test('without a bucket files are unavailable, and nothing else', async (t) => {
  const { objectStore, keyValue, stop } = connectService(env);
  t.like(await t.throwsAsync(objectStore.head(key)), { kind: 'unavailable' });
  await keyValue.ping();
  await stop();
});

test('in production every engine is required, and reported with all other problems', (t) => {
  const { message } = t.throws(() => connectService({ NODE_ENV: 'production', LOG_LEVEL: 'loud' }, 'session'));
  for (const name of ['REDIS_URL', 'KAFKA_BROKERS', 'S3_ENDPOINT']) {
    t.true(message.includes(`\n  ${name}: is missing, and NODE_ENV is production`), message);
  }
  for (const name of ['DATABASE_URL or SESSION_DATABASE_URL', 'MESH_KEY', 'LOG_LEVEL']) {
    t.true(message.includes(`\n  ${name}: `), message);
  }
});

test('only a unit that has a schema needs a database', async (t) => {
  t.throws(() => connectService(env, 'session'), { message: /SESSION_DATABASE_URL: is missing/ });
  await connectService(env).stop();
  await connectService({ ...env, SESSION_DATABASE_URL: 'postgres://localhost/parley' }, 'session').stop();
});
