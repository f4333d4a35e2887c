import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { createGate } from '@parley/testing/gate';
import { testAuthority } from '@parley/testing/test-authority';
import test, { type ExecutionContext } from 'ava';
import { httpDrain } from './http-drain.ts';

const patient = 20_000;

/** A server that holds its answers until a gate opens, with or without sending their headers, and a client that reuses one connection. */
async function busyServer(t: ExecutionContext, { headersFirst = false } = {}) {
  const gate = createGate();
  const arrivals = { count: 0 };
  const http = createServer(async (_request, response) => {
    arrivals.count += 1;
    if (headersFirst) response.writeHead(200).flushHeaders();
    await gate.pass();
    response.end('whole');
  });
  const { drain } = httpDrain(http);
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => {
    agent.destroy();
    http.closeAllConnections();
    http.close();
  });
  const { port } = http.address() as AddressInfo;
  const send = async () => {
    const sent = request({ port, host: '127.0.0.1', agent }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    let text = '';
    for await (const part of answer.setEncoding('utf8')) text += part;
    return { text, connection: answer.headers.connection };
  };
  return { gate, arrivals, drain, send, http };
}

test('a response in progress is complete and closes its connection, and the drain waits for nothing else', async (t) => {
  const { gate, drain, send, http } = await busyServer(t);
  gate.release();
  t.deepEqual(await send(), { text: 'whole', connection: 'keep-alive' });
  const answer = send();
  await once(http, 'request');
  const begun = performance.now();
  const drained = drain(patient);
  gate.open();

  t.deepEqual(await answer, { text: 'whole', connection: 'close' });
  await drained;
  t.true(performance.now() - begun < patient);
});

test('a busy client cannot keep its connection open during the drain', async (t) => {
  const { gate, arrivals, drain, send, http } = await busyServer(t);
  const first = send();
  await once(http, 'request');
  const drained = drain(patient);
  gate.open();
  await first;

  await t.throwsAsync(send, { code: 'ECONNREFUSED' });
  await drained;
  t.is(arrivals.count, 1);
});

test('a connection whose response had begun is closed after that response', async (t) => {
  const { gate, drain, send, http } = await busyServer(t, { headersFirst: true });
  const answer = send();
  await once(http, 'request');
  const begun = performance.now();
  const drained = drain(patient);
  gate.open();

  t.is((await answer).text, 'whole');
  await drained;
  t.true(performance.now() - begun < patient);
});

test('a request on an idle connection is still answered for a while, and closes it', async (t) => {
  const { gate, drain, send } = await busyServer(t);
  gate.open();
  await send();
  const drained = drain(patient, patient);

  t.deepEqual(await send(), { text: 'whole', connection: 'close' });
  await t.throwsAsync(send, { code: 'ECONNREFUSED' });
  await drained;
});

test('a connection that stays idle is closed after the linger time', async (t) => {
  const { gate, arrivals, drain, send } = await busyServer(t);
  gate.open();
  await send();
  await drain(patient, 20);
  t.is(arrivals.count, 1);
});

test('connections that are still open after the timeout are closed', async (t) => {
  const { drain, send, http } = await busyServer(t);
  const answer = send();
  answer.catch(() => undefined);
  await once(http, 'request');

  await drain(50);
  await t.throwsAsync(answer, { code: 'ECONNRESET' });
});

test('a client that does not begin its TLS handshake is cut off at the timeout', async (t) => {
  const http = createTlsServer(testAuthority().issue(['a']));
  const { drain } = httpDrain(http);
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const silent = connect((http.address() as AddressInfo).port, '127.0.0.1');
  t.teardown(() => silent.destroy());
  silent.on('error', () => undefined);
  await once(http, 'connection');
  await drain(50);
  t.false(http.listening);
});
