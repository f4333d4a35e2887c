import test from 'ava';
import { s3Files } from './s3-files.ts';

const key = 'tenants/1/a';
const env = {
  S3_ENDPOINT: 'http://127.0.0.1:1',
  S3_PUBLIC_ENDPOINT: 'https://files.example.com',
  S3_BUCKET: 'parley',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: 'secret',
};

test('a process of its own keeps files in its configured bucket, and is not ready before it has reached it', async (t) => {
  const store = s3Files(env);
  const { url } = await store.presignGet({ key, expiresInMs: 60_000 });
  t.true(url.startsWith('https://files.example.com/parley/tenants/1/a?'));
  t.like(await t.throwsAsync(store.ping()), { kind: 'unavailable' });
  await store.close();
  t.like(await t.throwsAsync(store.head(key)), { kind: 'unavailable' });
});

test('without a bucket files are unavailable, and nothing is waited for; in production that is an error', async (t) => {
  const store = s3Files({});
  t.like(await t.throwsAsync(store.head(key)), { kind: 'unavailable' });
  await t.notThrowsAsync(store.ping());
  t.throws(() => s3Files({ NODE_ENV: 'production' }), { message: /S3_ENDPOINT: is missing/u });
});
