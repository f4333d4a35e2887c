import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readObject } from '@parley/objects/object-store';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { type S3Options, s3ObjectStore } from '../src/s3-object-store.ts';

const key = 'tenants/1/a';
const page = { contentType: 'text/plain' };

async function listening(t: ExecutionContext, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function storeAt(t: ExecutionContext, endpoint: string, options: Partial<S3Options> = {}) {
  const store = s3ObjectStore({
    endpoint,
    region: 'us-east-1',
    bucket: 'parley',
    accessKeyId: 'id',
    secretAccessKey: 'secret of the store',
    ...options,
  });
  t.teardown(() => store.close());
  return store;
}

test('every call is unavailable and reveals no secret when the server is down, fails or does not answer', async (t) => {
  const gone = createServer();
  const goneUrl = await listening(t, gone);
  gone.close();
  const failing = await listening(
    t,
    createServer((_, response) => response.writeHead(503).end()),
  );
  const refusing = await listening(
    t,
    createServer((_, response) => response.writeHead(403).end()),
  );
  const silent = await listening(
    t,
    createServer(() => undefined),
  );
  for (const endpoint of [goneUrl, failing, refusing, silent]) {
    const store = storeAt(t, endpoint, { timeoutMs: 100 });
    const calls = [
      () => store.ping(),
      () => store.head(key),
      () => store.get(key),
      () => store.put(key, Buffer.of(1), page),
      () => store.delete(key),
      () => store.list({ prefix: 'tenants/' }),
    ];
    await Promise.all(
      calls.map(async (call) => {
        const error = await t.throwsAsync(call);
        t.like(error, { kind: 'unavailable' });
        t.notRegex(error.message, /secret|127\.0\.0\.1/u);
      }),
    );
  }
});

test('a call that fails once is retried', async (t) => {
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    if (requests === 1) response.writeHead(500).end();
    else response.writeHead(200, { etag: '"e"', 'content-length': 5, 'content-type': 'text/plain' }).end();
  });
  const store = storeAt(t, await listening(t, server));
  t.like(await store.head(key), { etag: 'e', sizeBytes: 5 });
  t.is(requests, 2);
});

test('a truncated body is unavailable instead of a shorter object', async (t) => {
  const cutOff = createServer((_, response) => {
    response.writeHead(200, { etag: '"e"', 'content-length': 100 });
    response.write('half', () => response.socket?.destroy());
  });
  const stalled = createServer((_, response) => {
    response.writeHead(200, { etag: '"e"', 'content-length': 100 });
    response.write('half');
  });
  for (const server of [cutOff, stalled]) {
    const store = storeAt(t, await listening(t, server), { timeoutMs: 300 });
    t.like(await t.throwsAsync(readObject(store, key, { maxBytes: 1_000 })), { kind: 'unavailable' });
  }
});

test('destroying a body closes its connection', async (t) => {
  let open = 0;
  const server = createServer((_, response) => {
    open += 1;
    response.on('close', () => {
      open -= 1;
    });
    response.writeHead(200, { etag: '"e"', 'content-length': 10_000_000 });
    response.write('half');
  });
  const store = storeAt(t, await listening(t, server));
  const { body } = await store.get(key);
  t.is(open, 1);
  body.destroy();
  await eventually('the connection is closed', () => open === 0);
});

test('signed URLs begin with the public endpoint, and need no request', async (t) => {
  const store = storeAt(t, 'http://127.0.0.1:1', { publicEndpoint: 'https://files.example.com' });
  const put = new URL((await store.presignPut({ key, contentType: 'text/plain', expiresInMs: 900_000 })).url);
  t.is(put.origin, 'https://files.example.com');
  t.is(put.pathname, `/parley/${key}`);
  t.is(put.searchParams.get('X-Amz-SignedHeaders'), 'content-type;host');
  t.is(put.searchParams.get('X-Amz-Expires'), '900');
  t.false([...put.searchParams.keys()].some((name) => /checksum|crc|content-length/iu.test(name)));
  const week = 7 * 24 * 60 * 60;
  const get = new URL((await store.presignGet({ key, expiresInMs: week * 1_000 })).url);
  t.is(get.searchParams.get('X-Amz-Expires'), String(week));
});
