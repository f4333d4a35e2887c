import { randomBytes } from 'node:crypto';
import test from 'ava';
import { connectSurroundings } from './connect.ts';

const env = { MESH_KEY: randomBytes(32).toString('base64') };
const key = 'tenants/1/a';
const s3 = {
  S3_ENDPOINT: 'http://127.0.0.1:1',
  S3_PUBLIC_ENDPOINT: 'https://files.example.com',
  S3_BUCKET: 'parley',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: 'secret',
};

test('a process of its own keeps files in the bucket that it is given', async (t) => {
  const { objectStore, stop } = connectSurroundings({ ...env, ...s3 });
  const { url } = await objectStore.presignGet({ key, expiresInMs: 60_000 });
  t.true(url.startsWith('https://files.example.com/parley/tenants/1/a?'));
  await stop();
  t.like(await t.throwsAsync(objectStore.head(key)), { kind: 'unavailable' });
});

test('without a bucket a file is unavailable, and nothing else is', async (t) => {
  const { objectStore, keyValue, stop } = connectSurroundings(env);
  t.like(await t.throwsAsync(objectStore.head(key)), { kind: 'unavailable' });
  await keyValue.ping();
  await stop();
});

test('in production there must be a bucket, told with what else is wrong', (t) => {
  const { message } = t.throws(() => connectSurroundings({ NODE_ENV: 'production', LOG_LEVEL: 'loud' }));
  for (const name of ['S3_ENDPOINT', 'MESH_KEY', 'LOG_LEVEL']) t.true(message.includes(`\n  ${name}: `), message);
});
