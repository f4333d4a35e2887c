import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readObject } from '@parley/chassis/object-store/object-store';
import { databaseSnapshot } from '@parley/chassis/testing/test-database';
import { testEnvironment } from '@parley/stories/mesh';
import test from 'ava';
import { localMesh } from '../src/mesh.ts';

process.env.LOG_LEVEL ??= 'fatal';
const key = 'tenants/1/uploads/a';
const s3 = {
  S3_ENDPOINT: 'http://127.0.0.1:1',
  S3_BUCKET: 'parley',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: randomBytes(8).toString('hex'),
};

test('what is put to a signed URL is in the data folder, and there after a restart', async (t) => {
  const dataFolder = mkdtempSync(join(tmpdir(), 'parley-files-'));
  t.teardown(() => rmSync(dataFolder, { recursive: true, force: true }));
  const env = testEnvironment({ CORS_ORIGINS: 'https://app.example' });
  const options = { dataFolder, databaseSnapshot: databaseSnapshot() };

  const first = await localMesh(env, options);
  await first.start();
  const unused = !existsSync(join(dataFolder, 'objects'));
  const { objectStore } = first.surroundings;
  const upload = await objectStore.presignPut({ key, contentType: 'text/plain', expiresInMs: 60_000 });
  const headers = { 'content-type': 'text/plain', origin: 'https://app.example' };
  const answer = await fetch(upload.url, { method: 'PUT', headers, body: Buffer.from('kept') });
  const shown = first.engines()['object store'];
  await first.stop();

  t.true(unused, 'nothing is made before there is a file');
  t.is(answer.status, 200);
  t.is(answer.headers.get('access-control-allow-origin'), 'https://app.example');
  t.is(shown, `files in ${join(dataFolder, 'objects')}, signed URLs on ${new URL(upload.url).origin}`);
  await t.throwsAsync(fetch(upload.url, { method: 'PUT', headers, body: Buffer.from('late') }));
  await t.throwsAsync(objectStore.head(key), { message: /closed/u });

  const next = await localMesh(env, options);
  await next.start();
  const { bytes } = await readObject(next.surroundings.objectStore, key, { maxBytes: 100 });
  await next.stop();
  t.is(String(bytes), 'kept');
});

test('a bucket that is named is used instead, and no port is opened', async (t) => {
  const mesh = await localMesh({ ...testEnvironment(), ...s3 }, { dataFolder: null });
  t.is(mesh.engines()['object store'], 'S3 (S3_ENDPOINT)');
  const { url } = await mesh.surroundings.objectStore.presignGet({ key, expiresInMs: 60_000 });
  t.true(url.startsWith(`${s3.S3_ENDPOINT}/parley/${key}?`));
});

test('a bucket without its name and keys is named with all other bad settings', async (t) => {
  const env = { ...testEnvironment(), S3_ENDPOINT: s3.S3_ENDPOINT, STORAGE_PORT: 'high' };
  const { message } = await t.throwsAsync(localMesh(env, { dataFolder: null }));
  for (const name of ['STORAGE_PORT', 'S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY']) {
    t.true(message.includes(`\n  ${name}: `), message);
  }
});
