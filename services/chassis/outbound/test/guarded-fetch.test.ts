import { setImmediate as immediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { DomainError } from '@parley/kernel/errors';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { type FetchLimits, guardedFetch } from '../src/guarded-fetch.ts';
import { flood, type GuardOptions, guard, loopback, rawServer, server } from './guarded.ts';

const mb = 1_000_000;
const allowed = { allowlist: ['127.0.0.1'], dns: loopback };

async function fetcher(t: ExecutionContext, limits: Partial<FetchLimits> = {}, options: GuardOptions = allowed) {
  const outbound = await guard(t, options);
  const fetch = guardedFetch(outbound, { timeoutMs: 20_000, maxBytes: mb, ...limits });
  /** Returns the status of a response and the length of its body, or the kind and reason of the error. */
  async function outcome(url: string, init?: RequestInit): Promise<string> {
    try {
      const response = await fetch(url, init);
      return `${response.status} ${(await response.text()).length}`;
    } catch (error) {
      const { kind, reason } = error as DomainError;
      return `${kind} ${reason}`;
    }
  }
  return { fetch, outcome, logged: outbound.logged };
}

test('fetch: request and response are those of `fetch`, and the connection is closed at the end', async (t) => {
  const site = await server(t, async (request, response) => {
    const [body] = await request.toArray();
    response.setHeader('x-name', ['a', 'b']);
    response.writeHead(418, { 'content-type': 'text/plain' }).end(`${request.method} ${body}`);
  });
  const { fetch } = await fetcher(t);
  const headers = new Headers({ Authorization: 'Bearer a', 'X-A': 'b' });
  const response = await fetch(new URL(`http://site.example:${site.port}/a?b=c`), {
    method: 'post',
    headers,
    body: 'é',
  });
  t.is(response.status, 418);
  t.is(response.headers.get('x-name'), 'a, b');
  t.is(await response.text(), 'POST é');
  t.like(site.requests[0], { url: '/a?b=c', headers: { authorization: 'Bearer a', 'x-a': 'b', connection: 'close' } });
  await eventually('the connection is closed', () => site.open === 0);
});

test('fetch: an answer without a body has none', async (t) => {
  const site = await server(t, ({ url }, response) => void response.writeHead(Number(url?.slice(1))).end());
  const { fetch, outcome } = await fetcher(t);
  for (const status of [204, 205, 304]) {
    const response = await fetch(`http://127.0.0.1:${site.port}/${status}`);
    t.deepEqual([response.status, response.body], [status, null]);
  }
  t.is(await outcome(`http://127.0.0.1:${site.port}/200`, { method: 'HEAD' }), '200 0');
  t.is(await outcome(`http://127.0.0.1:${site.port}/999`), 'unavailable REMOTE_BROKEN');
  await eventually('the connections are closed', () => site.open === 0);
});

test('fetch: addresses, ports, schemes and headers are refused as by any other call', async (t) => {
  const inside = await server(t, (_, response) => void response.end('inside'));
  const { outcome } = await fetcher(t, {}, { dns: loopback });
  t.is(await outcome(`http://127.0.0.1:${inside.port}/`), 'invalid URL_REFUSED');
  t.is(await outcome(`http://[::ffff:7f00:1]:${inside.port}/`), 'invalid URL_REFUSED');
  t.is(await outcome(`http://private.example:${inside.port}/`), 'invalid HOST_NOT_PUBLIC');
  t.is(await outcome('file:///etc/passwd'), 'invalid URL_REFUSED');
  t.is(await outcome(`http://user:secret@private.example:${inside.port}/`), 'invalid URL_REFUSED');
  t.is(await outcome('https://public.example/', { headers: { host: 'inside' } }), 'invalid undefined');
  t.is(inside.connections, 0);
});

test('fetch: a redirect is refused, whatever the caller asks for', async (t) => {
  const site = await server(t, (_, response) => void response.writeHead(307, { location: '/next' }).end());
  const { outcome } = await fetcher(t);
  for (const redirect of ['follow', 'manual', 'error'] as const)
    t.is(await outcome(`http://127.0.0.1:${site.port}/`, { redirect }), 'invalid REDIRECT_REFUSED');
  t.is(site.requests.length, 3);
  await eventually('the connections are closed', () => site.open === 0);
});

test('fetch: a body is read as it arrives, inflated', async (t) => {
  const zipped = gzipSync('a'.repeat(10));
  const site = await server(t, ({ url }, response) => {
    if (url === '/gzip') return void response.writeHead(200, { 'content-encoding': 'gzip' }).end(zipped);
    response.writeHead(200).write('first');
  });
  const { fetch } = await fetcher(t);
  const zip = await fetch(`http://127.0.0.1:${site.port}/gzip`);
  t.deepEqual([zip.headers.get('content-encoding'), zip.headers.get('content-length')], [null, null]);
  t.is(await zip.text(), 'a'.repeat(10));

  const { body } = await fetch(`http://127.0.0.1:${site.port}/`);
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  t.is(Buffer.from((await reader.read()).value ?? []).toString(), 'first');
  await reader.cancel();
  await eventually('the connection is closed', () => site.open === 0);
});

test('fetch: an endless body, a bomb, and an endless event or line are cut at their size', async (t) => {
  const bomb = gzipSync(Buffer.alloc(100 * mb));
  const site = await server(t, ({ url }, response) => {
    const { socket } = response;
    const type = { 'content-type': url === '/bytes' ? 'text/plain' : 'text/event-stream; charset=utf-8' };
    if (url === '/bomb') return void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
    response.writeHead(200, type).flushHeaders();
    const text = { '/lines': 'data: a\n', '/events': 'data: a\n\n' }[url ?? ''] ?? 'aaaaaaaa';
    const piece = text.repeat(8_192);
    if (socket) flood(socket, `${piece.length.toString(16)}\r\n${piece}\r\n`);
  });
  const { outcome, fetch } = await fetcher(t, { maxEventBytes: 100_000 });
  for (const path of ['bytes', 'bomb', 'line', 'lines', 'events'])
    t.is(await outcome(`http://127.0.0.1:${site.port}/${path}`), 'invalid REMOTE_TOO_LARGE', path);
  await eventually('the connections are closed', () => site.open === 0);

  const read = async (path: string) => {
    let bytes = 0;
    const { body } = await fetch(`http://127.0.0.1:${site.port}/${path}`);
    await t.throwsAsync(async () => {
      for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) bytes += chunk.length;
    });
    return bytes;
  };
  t.true((await read('line')) <= 100_000);
  t.true((await read('lines')) <= 100_000);
  t.true((await read('events')) > 500_000);
});

test('fetch: an unread body is not received, and its connection closes at the time limit', async (t) => {
  let written = 0;
  const site = await server(t, (_, response) => {
    const more = () => {
      while (response.writable && response.write(Buffer.alloc(65_536))) written += 65_536;
    };
    response.on('drain', more);
    more();
  });
  const { fetch } = await fetcher(t, { maxBytes: 1_000 * mb, timeoutMs: 1_000 });
  const { body } = await fetch(`http://127.0.0.1:${site.port}/`);
  await eventually('the connection is closed', () => site.open === 0);
  t.true(written < 50 * mb, `${written} bytes`);
  await t.throwsAsync((body as ReadableStream).getReader().read(), { message: /did not answer in full/u });
});

test('fetch: slow answers end by the idle timeout and by the timeout of the whole call', async (t) => {
  const drip = (first: string, piece: string) =>
    rawServer(t, (socket) => {
      socket.write(first);
      const timer = setInterval(() => socket.write(piece), 20);
      socket.on('close', () => clearInterval(timer));
    });
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n';
  const slow = {
    headers: await drip('HTTP/1.1 200 OK\r\n', 'x-a: b\r\n'),
    body: await drip(head, ':'),
    silent: await rawServer(t, () => undefined),
    begun: await rawServer(t, (socket) => void socket.write(`${head}data: a\n\n`)),
  };
  const whole = await fetcher(t, { timeoutMs: 400 });
  for (const url of Object.values(slow)) t.is(await whole.outcome(url), 'unavailable REMOTE_TOO_SLOW');
  const idle = await fetcher(t, { timeoutMs: 60_000, idleMs: 400 });
  for (const url of [slow.headers, slow.silent, slow.begun])
    t.is(await idle.outcome(url), 'unavailable REMOTE_TOO_SLOW');
  const both = await fetcher(t, { timeoutMs: 1_500, idleMs: 500 });
  const begun = performance.now();
  t.is(await both.outcome(slow.body), 'unavailable REMOTE_TOO_SLOW');
  t.true(performance.now() - begun > 1_400, 'each byte begins the idle time anew');
});

test('fetch: huge headers, broken HTTP, and a connection cut within the body are unavailable', async (t) => {
  const { outcome } = await fetcher(t);
  const endless = await rawServer(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    flood(socket, `x-more: ${'a'.repeat(1_000)}\r\n`);
  });
  t.is(await outcome(endless), 'unavailable REMOTE_BROKEN');
  for (const bytes of ['SSH-2.0\r\n', '', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort'])
    t.is(await outcome(await rawServer(t, (socket) => socket.end(bytes))), 'unavailable REMOTE_BROKEN', bytes);
});

test('fetch: an abort ends the call before, during and after the head, with its reason', async (t) => {
  const site = await server(t, ({ url }, response) => {
    if (url === '/body') response.writeHead(200).write('a');
  });
  const { fetch, logged } = await fetcher(t);
  for (const [before, path] of ['head', 'body'].entries()) {
    const { signal, abort } = aborting();
    const call = fetch(`http://127.0.0.1:${site.port}/${path}`, { signal }).then((response) => response.text());
    const ended = t.throwsAsync(call, { message: 'gone' });
    await eventually('the request has arrived', () => site.requests.length > before);
    await immediate();
    abort();
    await ended;
    await eventually('the connection is closed', () => site.open === 0);
  }
  const { signal, abort } = aborting();
  abort();
  await t.throwsAsync(fetch(`http://127.0.0.1:${site.port}/`, { signal }), { message: 'gone' });
  t.is(site.connections, 2);
  t.deepEqual(logged, []);
});

function aborting() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort(new Error('gone')) };
}

test('fetch: a body that is broken off is logged once, by host and reason', async (t) => {
  const cut = await rawServer(t, (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort'));
  const { outcome, logged } = await fetcher(t);
  await outcome(`${cut}?token=secret`);
  t.deepEqual(logged, [{ level: 30, host: new URL(cut).host, kind: 'REMOTE_BROKEN', msg: 'outbound call failed' }]);
});
