import { once } from 'node:events';
import { readdir, readFile, rmdir, utimes, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { readObject } from '@parley/objects/object-store';
import { eventually } from '@parley/testing/eventually';
import { type Storage, storageOf } from '@parley/testing/object-stores';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { fileObjectStore } from '../src/file-object-store.ts';
import { storageServer } from '../src/storage-server.ts';

const key = 'tenants/1/a';
const page = { contentType: 'text/plain' };
const minute = 60_000;

async function uploadUrl({ store }: Storage): Promise<string> {
  return (await store.presignPut({ key, contentType: 'text/plain', expiresInMs: minute })).url;
}

async function incoming(storage: Storage): Promise<string[]> {
  return readdir(join(storage.folder, 'incoming')).catch(() => []);
}

/** Sends the head of an upload and `body`, a part of its bytes, and keeps the connection open. */
async function halfUpload(storage: Storage, length: number, body: string) {
  const url = new URL(await uploadUrl(storage));
  const socket = connect(Number(url.port), url.hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(`PUT ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\ncontent-type: text/plain\r\n`);
  socket.write(`content-length: ${length}\r\n\r\n${body}`);
  return socket;
}

async function nothingStored(t: ExecutionContext, storage: Storage): Promise<void> {
  await eventually('nothing is left', async () => (await incoming(storage)).length === 0);
  t.like(await t.throwsAsync(storage.store.head(key)), { kind: 'notFound' });
}

test('an upload that is cut off leaves no file and keeps the earlier object', async (t) => {
  const storage = await storageOf(t);
  const first = await halfUpload(storage, 100, 'half of it');
  await eventually('it has begun', async () => (await incoming(storage)).length === 1);
  first.destroy();
  await nothingStored(t, storage);

  await storage.store.put(key, Buffer.from('before'), page);
  const second = await halfUpload(storage, 100, 'half of it');
  await eventually('it has begun', async () => (await incoming(storage)).length === 1);
  second.destroy();
  await eventually('nothing is left', async () => (await incoming(storage)).length === 0);
  t.is(String((await readObject(storage.store, key, { maxBytes: 100 })).bytes), 'before');
});

test('a stalled upload is cut off', async (t) => {
  const storage = await storageOf(t, { idleTimeoutMs: 100 });
  const socket = await halfUpload(storage, 100, 'half of it');
  socket.resume();
  await once(socket, 'close');
  await nothingStored(t, storage);
});

test('an upload that is too large is refused, with or without a content-length', async (t) => {
  const storage = await storageOf(t, { maxBytes: 1_000 });
  const headers = { 'content-type': 'text/plain' };
  const url = await uploadUrl(storage);
  t.is((await fetch(url, { method: 'PUT', headers, body: Buffer.alloc(1_001) })).status, 413);
  const chunked = request(url, { method: 'PUT', headers });
  chunked.write(Buffer.alloc(600));
  chunked.write(Buffer.alloc(600));
  const [answer] = await once(chunked, 'response');
  t.is(answer.statusCode, 413);
  chunked.destroy();
  await nothingStored(t, storage);
  t.is((await fetch(url, { method: 'PUT', headers, body: Buffer.alloc(1_000) })).status, 200);
});

test('an upload after refuseUploads stores nothing, nor does one in progress, until the time has passed', async (t) => {
  const storage = await storageOf(t);
  const { store } = storage;
  const url = await uploadUrl(storage);
  const upload = async (body: string) =>
    (await fetch(url, { method: 'PUT', headers: { 'content-type': 'text/plain' }, body: Buffer.from(body) })).status;
  t.is(await upload('first'), 200);
  t.is(await upload('again'), 200);
  const begun = await halfUpload(storage, 20, 'half of it');
  await eventually('it has begun', async () => (await incoming(storage)).length === 1);
  await store.refuseUploads(key, { forMs: minute });
  begun.write('other half');
  t.regex(String((await once(begun, 'data'))[0]), /^HTTP\/1\.1 409 /u);
  begun.destroy();
  t.is(await upload('later'), 409);
  t.is(String((await readObject(store, key, { maxBytes: 100 })).bytes), 'again');
  t.deepEqual(await incoming(storage), []);
  await store.delete(key);
  t.is(await upload('deleted'), 409);
  await nothingStored(t, storage);
  await store.put(key, Buffer.from('by a service'), page);

  await store.refuseUploads(key, { forMs: 1 });
  await eventually('the time has passed', async () => (await upload('at last')) === 200);
});

test('only pages of the allowed origins may use the URLs', async (t) => {
  const storage = await storageOf(t, { corsOrigins: ['https://app.example'] });
  const preflight = async (origin: string) =>
    fetch(await uploadUrl(storage), {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'PUT', 'access-control-request-headers': 'content-type' },
    });
  const allowed = await preflight('https://app.example');
  t.is(allowed.status, 204);
  t.is(allowed.headers.get('access-control-allow-origin'), 'https://app.example');
  t.true(allowed.headers.get('access-control-allow-methods')?.includes('PUT'));
  t.is(allowed.headers.get('access-control-allow-headers'), 'content-type');
  t.is((await preflight('https://evil.example')).headers.get('access-control-allow-origin'), null);

  await storage.store.put(key, Buffer.from('x'), page);
  const { url } = await storage.store.presignGet({ key, expiresInMs: minute });
  const read = await fetch(url, { headers: { origin: 'https://app.example' } });
  t.is(read.headers.get('access-control-allow-origin'), 'https://app.example');
  t.is(await read.text(), 'x');
});

test('HEAD has the headers of GET; responses allow no scripts and no sniffing', async (t) => {
  const storage = await storageOf(t);
  await storage.store.put(key, Buffer.from('<script>'), { contentType: 'text/html' });
  const { url } = await storage.store.presignGet({ key, expiresInMs: minute });
  const head = await fetch(url, { method: 'HEAD' });
  t.is(head.status, 200);
  t.is(head.headers.get('content-length'), '8');
  const { headers, status } = await fetch(url);
  t.is(status, 200);
  t.regex(headers.get('content-security-policy') ?? '', /sandbox/u);
  t.is(headers.get('x-content-type-options'), 'nosniff');
  t.is((await fetch(await uploadUrl(storage), { method: 'HEAD' })).status, 403);
});

test('no path leads out of the store, and no response reveals one', async (t) => {
  const storage = await storageOf(t);
  const { port, hostname } = new URL(storage.url);
  for (const path of [
    '/',
    '/../../etc/passwd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '//etc/passwd',
    '/incoming',
    '/%00',
    '/%',
  ]) {
    const asked = request({ port, hostname, path }).end(); // `fetch` would normalize the path
    const [answer] = await once(asked, 'response');
    t.is(answer.statusCode, 403, path);
    let body = '';
    for await (const chunk of answer) body += String(chunk);
    t.false(body.includes(storage.folder));
  }
});

test('a store that cannot use its folder answers 503 without a path', async (t) => {
  const storage = await storageOf(t);
  const url = await uploadUrl(storage);
  await storage.store.put(key, Buffer.from('x'), page);
  await storage.store.delete(key);
  // A file in place of the object's folder has the same effect as a folder without access rights, also for root.
  const [shard = ''] = await readdir(join(storage.folder, 'objects'));
  await rmdir(join(storage.folder, 'objects', shard));
  await writeFile(join(storage.folder, 'objects', shard), '');
  const answer = await fetch(url, { method: 'PUT', headers: { 'content-type': 'text/plain' }, body: Buffer.from('x') });
  t.is(answer.status, 503);
  t.false((await answer.text()).includes(storage.folder));
  t.deepEqual(await incoming(storage), []);
});

test('files of a dead process are removed by a later one, files being written are not', async (t) => {
  const { store, folder, signer } = await storageOf(t);
  await store.put(key, Buffer.from('kept'), page);
  const [old, young] = ['old', 'young'].map((name) => join(folder, 'incoming', name));
  for (const file of [old, young]) await writeFile(file ?? '', 'x');
  const hoursAgo = new Date(Date.now() - 2 * 60 * minute);
  await utimes(old ?? '', hoursAgo, hoursAgo);

  const next = fileObjectStore({ folder, signer, publicUrl: () => undefined });
  t.teardown(() => next.close());
  t.is(String((await readObject(next, key, { maxBytes: 100 })).bytes), 'kept');
  t.deepEqual(await readdir(join(folder, 'incoming')), ['young']);
});

test('a damaged file is an error', async (t) => {
  const { store, folder } = await storageOf(t);
  await store.put(key, Buffer.from('kept'), page);
  const [shard = ''] = await readdir(join(folder, 'objects'));
  const [name = ''] = await readdir(join(folder, 'objects', shard));
  const file = join(folder, 'objects', shard, name);
  const bytes = await readFile(file);
  await writeFile(file, bytes.subarray(0, bytes.length - 1));
  await t.throwsAsync(store.get(key), { message: /damaged/u });
  await writeFile(file, bytes.subarray(0, 100));
  await t.throwsAsync(store.head(key), { message: /damaged/u });
});

test('folders are created when needed, and nothing is served once it is closed', async (t) => {
  const { signer, folder } = await storageOf(t);
  const store = fileObjectStore({ folder: join(folder, 'not', 'made'), signer, publicUrl: () => undefined });
  await store.put(key, Buffer.from('x'), page);
  t.is((await store.head(key)).sizeBytes, 1);
  const error = await t.throwsAsync(store.presignGet({ key, expiresInMs: minute }));
  t.like(error, { kind: 'unavailable' });
  await store.close();
  await store.close();
  t.like(await t.throwsAsync(store.head(key)), { kind: 'unavailable' });
});

test('the error for a port in use has the number of the port', async (t) => {
  const { url, store, signer } = await storageOf(t);
  const port = Number(new URL(url).port);
  const second = storageServer({
    store,
    signer,
    port,
    corsOrigins: [],
    log: pino({ level: 'silent' }),
    onListening: () => t.fail(),
  });
  t.like(await t.throwsAsync(second.start()), { code: 'EADDRINUSE', port });
});

test('stop lets a running download finish', async (t) => {
  const storage = await storageOf(t);
  const bytes = Buffer.alloc(8_000_000, 'x');
  await storage.store.put(key, bytes, page);
  const answer = await fetch((await storage.store.presignGet({ key, expiresInMs: minute })).url);
  const stopped = storage.close();
  t.true(Buffer.from(await answer.arrayBuffer()).equals(bytes));
  await stopped;
});
