// These tests start their own meshes, because they inspect a mesh's data folder and run two meshes at the same time.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readObject } from '@parley/objects/object-store';
import { migratedSnapshot } from '@parley/testing/test-database';
import { units as listed, schemas } from '@parley/units';
import test, { type ExecutionContext } from 'ava';
import { addressesFile } from '../src/addresses-file.ts';
import { localMesh } from '../src/mesh.ts';

process.env.LOG_LEVEL ??= 'fatal';
const key = 'tenants/1/uploads/a';
const s3 = {
  S3_ENDPOINT: 'http://127.0.0.1:1',
  S3_BUCKET: 'parley',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: randomBytes(8).toString('hex'),
};

function environment() {
  const some = () => randomBytes(32).toString('base64');
  return {
    MESH_KEY: some(),
    OPERATOR_KEY: some(),
    SECRETS_KEYS: `k1:${some()}`,
    AVATAR_TOKEN_KEYS: `k1:${some()}`,
    GATEWAY_PORT: '0',
    VOICE_PORT: '0',
    STORAGE_PORT: '0',
    CORS_ORIGINS: 'https://app.example',
  };
}

function emptyFolder(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-files-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Reports whether the gateway of a mesh responds. */
async function isServed(url: string): Promise<boolean> {
  const headers = { 'content-type': 'application/json', 'x-app-platform': 'customer' };
  const answer = await fetch(`${url}/graphql`, { method: 'POST', headers, body: '{"query":"{ __typename }"}' });
  return answer.ok;
}

test('only the owner of a data folder can read where a running mesh is, and files outlive a restart', async (t) => {
  const dataFolder = emptyFolder(t);
  const env = environment();
  const options = { dataFolder, databaseSnapshot: await migratedSnapshot(schemas) };
  const announced = join(dataFolder, addressesFile);
  const other = await localMesh(environment(), { ...options, dataFolder: emptyFolder(t) });
  t.teardown(() => other.stop());

  const first = await localMesh(env, options);
  await Promise.all([first.start(), other.start()]);
  const { addresses, objectStore } = first.dependencies;
  const units = JSON.parse(readFileSync(announced, 'utf8'));
  const called = listed.filter(({ serves }) => serves.includes('rpc'));
  for (const { name } of called) t.is(units[name].rpc, addresses.of(name, 'rpc'));
  t.is(units.gateway.public, first.publicUrl());
  t.is(statSync(announced).mode & 0o777, 0o600);

  t.false(existsSync(join(dataFolder, 'objects')), 'nothing is made before there is a file');
  const upload = await objectStore.presignPut({ key, contentType: 'text/plain', expiresInMs: 60_000 });
  const headers = { 'content-type': 'text/plain', origin: 'https://app.example' };
  const answer = await fetch(upload.url, { method: 'PUT', headers, body: Buffer.from('kept') });
  t.is(answer.status, 200);
  t.is(answer.headers.get('access-control-allow-origin'), 'https://app.example');
  const shown = `files in ${join(dataFolder, 'objects')}, signed URLs on ${new URL(upload.url).origin}`;
  t.is(first.engines()['object store'], shown);
  t.true((await isServed(first.publicUrl())) && (await isServed(other.publicUrl())));

  await first.stop();
  t.false(existsSync(announced));
  await t.throwsAsync(fetch(upload.url, { method: 'PUT', headers, body: Buffer.from('late') }));
  await t.throwsAsync(objectStore.head(key), { message: /closed/u });
  t.true(await isServed(other.publicUrl()), 'a mesh beside it goes on');

  const next = await localMesh(env, options);
  await next.start();
  const { bytes } = await readObject(next.dependencies.objectStore, key, { maxBytes: 100 });
  await next.stop();
  t.is(String(bytes), 'kept');
});

test('a bucket that is named is used instead, and no port is opened', async (t) => {
  const mesh = await localMesh({ ...environment(), ...s3 }, { dataFolder: emptyFolder(t) });
  t.is(mesh.engines()['object store'], 'S3 (S3_ENDPOINT)');
  const { url } = await mesh.dependencies.objectStore.presignGet({ key, expiresInMs: 60_000 });
  t.true(url.startsWith(`${s3.S3_ENDPOINT}/parley/${key}?`));
});

test('a bucket without its name and keys is named with all other bad settings', async (t) => {
  const env = { ...environment(), S3_ENDPOINT: s3.S3_ENDPOINT, STORAGE_PORT: 'high' };
  const { message } = await t.throwsAsync(localMesh(env, { dataFolder: emptyFolder(t) }));
  for (const name of ['STORAGE_PORT', 'S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY']) {
    t.true(message.includes(`\n  ${name}: `), message);
  }
});
