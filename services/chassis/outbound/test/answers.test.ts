import { once } from 'node:events';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { badRequest } from '@parley/kernel/errors';
import { listen } from '@parley/kernel/http/listen';
import { eventually } from '@parley/testing/eventually';
import { certificateFor } from '@parley/testing/test-authority';
import test from 'ava';
import type { AnswerHead } from '../src/send-hop.ts';
import { flood, guard, loopback, rawServer, server } from './guarded.ts';

const allowed = { allowlist: ['127.0.0.1'], dns: loopback };
const mb = 1_000_000;

test('an endless answer is cut at its size, announced or not, and its connection is closed', async (t) => {
  const { refusal } = await guard(t, allowed);
  const site = await server(t, (_, response) => {
    const { socket } = response;
    response.writeHead(200);
    response.flushHeaders();
    if (socket) flood(socket, `10000\r\n${'a'.repeat(0x10000)}\r\n`);
  });
  t.is(await refusal(`http://127.0.0.1:${site.port}/`, { maxBytes: mb }), 'invalid REMOTE_TOO_LARGE');
  await eventually('the connection is closed', () => site.open === 0);

  const announced = await rawServer(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n');
    flood(socket, 'a'.repeat(65_536));
  });
  t.is(await refusal(announced, { maxBytes: mb }), 'invalid REMOTE_TOO_LARGE');
});

test('an answer of exactly the limit is accepted', async (t) => {
  const site = await server(t, (_, response) => void response.end('a'.repeat(1_000)));
  const { call, refusal } = await guard(t, allowed);
  const url = `http://127.0.0.1:${site.port}/`;
  t.is((await call(url, { maxBytes: 1_000 })).body.length, 1_000);
  t.is(await refusal(url, { maxBytes: 999 }), 'invalid REMOTE_TOO_LARGE');
});

test('compressed answers are inflated, and bombs are cut at the inflated size', async (t) => {
  const zeros = Buffer.alloc(200 * mb);
  const brotli = (data: Buffer) => brotliCompressSync(data, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });
  const encoders: [string, string, (data: Buffer) => Buffer][] = [
    ['gzip', 'gzip', gzipSync],
    ['deflate with a header', 'deflate', deflateSync],
    ['raw deflate', 'deflate', deflateRawSync],
    ['brotli', 'br', brotli],
  ];
  const { call, refusal } = await guard(t, allowed);
  for (const [what, encoding, encode] of encoders) {
    const [page, bomb] = [encode(Buffer.from('a page')), encode(zeros)];
    t.true(bomb.length < mb, what);
    const site = await server(t, ({ url }, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end(url === '/bomb' ? bomb : page);
    });
    t.is((await call(`http://127.0.0.1:${site.port}/page`)).body.toString(), 'a page', what);
    t.is(await refusal(`http://127.0.0.1:${site.port}/bomb`, { maxBytes: mb }), 'invalid REMOTE_TOO_LARGE', what);
  }
});

test('an answer that is broken, encoded twice or unknown, or cut short is unavailable', async (t) => {
  const { refusal } = await guard(t, allowed);
  const gzip = gzipSync('a'.repeat(1_000));
  const answers: [string, string, Buffer][] = [
    ['gzip', 'no gzip', Buffer.from('plain')],
    ['gzip', 'cut', gzip.subarray(0, gzip.length / 2)],
    ['gzip, gzip', 'twice', gzipSync(gzip)],
    ['zstd', 'unknown', Buffer.from('a')],
    ['br', 'no brotli', Buffer.from('plain text')],
  ];
  for (const [encoding, what, body] of answers) {
    const site = await server(t, (_, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end(body);
    });
    t.is(await refusal(`http://127.0.0.1:${site.port}/`), 'unavailable REMOTE_BROKEN', what);
  }
  const heads = [
    'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
    'SSH-2.0-OpenSSH_9.6\r\n',
    '',
  ];
  for (const head of heads)
    t.is(await refusal(await rawServer(t, (socket) => socket.end(head))), 'unavailable REMOTE_BROKEN', head);
});

test('huge and endless headers are cut', async (t) => {
  const { refusal } = await guard(t, allowed);
  const endless = await rawServer(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    flood(socket, `x-more: ${'a'.repeat(1_000)}\r\n`);
  });
  t.is(await refusal(endless), 'unavailable REMOTE_BROKEN');
  const oneLong = await rawServer(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nx-long: ');
    flood(socket, 'a'.repeat(1_000));
  });
  t.is(await refusal(oneLong), 'unavailable REMOTE_BROKEN');
});

test('the time limit covers an answer of a byte now and then, endless interim answers, and one that never begins', async (t) => {
  const { refusal } = await guard(t, allowed);
  const slow = await rawServer(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n');
    const timer = setInterval(() => socket.write('a'), 20);
    socket.on('close', () => clearInterval(timer));
  });
  const silent = await rawServer(t, () => undefined);
  const interim = await rawServer(t, (socket) => {
    const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 20);
    socket.on('close', () => clearInterval(timer));
  });
  for (const url of [slow, silent, interim]) {
    const begun = performance.now();
    t.is(await refusal(url, { timeoutMs: 400 }), 'unavailable REMOTE_TOO_SLOW');
    t.true(performance.now() - begun < 5_000);
  }
});

test('a caller that leaves ends the call, and its connection', async (t) => {
  const site = await server(t, () => undefined);
  const { call } = await guard(t, allowed);
  const client = new AbortController();
  const calling = t.throwsAsync(call(`http://127.0.0.1:${site.port}/`, { signal: client.signal }), { message: 'gone' });
  await eventually('the request has arrived', () => site.requests.length === 1);
  client.abort(new Error('gone'));
  await calling;
  await eventually('the connection is closed', () => site.open === 0);
  await t.throwsAsync(call(`http://127.0.0.1:${site.port}/`, { signal: client.signal }), { message: 'gone' });
  t.is(site.connections, 1);
});

test('each call has a connection of its own, closed afterwards', async (t) => {
  const site = await server(t, (_, response) => void response.setHeader('keep-alive', 'timeout=600').end('here'));
  const { call } = await guard(t, allowed);
  await call(`http://127.0.0.1:${site.port}/`);
  await call(`http://127.0.0.1:${site.port}/`);
  t.is(site.connections, 2);
  await eventually('the connections are closed', () => site.open === 0);
});

test('a port where nobody listens is unreachable', async (t) => {
  const { refusal } = await guard(t, allowed);
  const closed = createTcpServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  t.is(await refusal(`http://127.0.0.1:${port}/`), 'unavailable REMOTE_UNREACHABLE');
});

// Serial, because other tests of this process would trust the certificate too.
test.serial('TLS names the host of the URL, whose certificate must be trusted and be for that name', async (t) => {
  const names: (string | false | null | undefined)[] = [];
  const certificate = certificateFor('secure.example');
  const site = createTlsServer(certificate, (request, response) => {
    const { servername } = request.socket as TLSSocket;
    names.push(servername, request.headers.host);
    response.end('here');
  });
  const { port } = new URL(`https://${await listen(site)}`);
  t.teardown(() => site.close());
  const { refusal } = await guard(t, allowed);
  const url = `https://secure.example:${port}/`;
  t.is(await refusal(url), 'unavailable REMOTE_UNREACHABLE');
  const trusted = getCACertificates();
  t.teardown(() => setDefaultCACertificates(trusted));
  setDefaultCACertificates([...trusted, certificate.cert]);
  t.is(await refusal(url), 'answered 200');
  t.deepEqual(names, ['secure.example', `secure.example:${port}`]);
  t.is(await refusal(`https://other.example:${port}/`), 'unavailable REMOTE_UNREACHABLE');
  t.is(await refusal(`https://127.0.0.1:${port}/`), 'unavailable REMOTE_UNREACHABLE');
  t.is(names.length, 2);
});

// Serial, because other tests of this process would use the proxy too.
test.serial('a proxy of the environment is not used', async (t) => {
  const proxy = await server(t, (_, response) => void response.end('proxy'));
  const site = await server(t, (_, response) => void response.end('site'));
  const { call } = await guard(t, allowed);
  const before = { ...process.env };
  t.teardown(() => Object.assign(process.env, before));
  for (const name of ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'ALL_PROXY'])
    process.env[name] = `http://127.0.0.1:${proxy.port}`;
  process.env.NODE_USE_ENV_PROXY = '1';
  t.is((await call(`http://site.example:${site.port}/`)).body.toString(), 'site');
  t.is(proxy.connections, 0);
  for (const name of ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'])
    if (!(name in before)) delete process.env[name];
});

test('an error of `onHead` ends the call before the body is read', async (t) => {
  const site = await server(t, (_, response) =>
    response.writeHead(404, { 'content-type': 'image/png' }).flushHeaders(),
  );
  const { call } = await guard(t, allowed);
  const onHead = ({ status, headers }: AnswerHead) => {
    throw badRequest(`${status} ${headers['content-type']}`);
  };
  await t.throwsAsync(call(`http://127.0.0.1:${site.port}/`, { onHead }), { message: '404 image/png' });
  await eventually('the connection is closed', () => site.open === 0);
});
