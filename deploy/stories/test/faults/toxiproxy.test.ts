import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import { startToxiproxy } from './toxiproxy.ts';
import { toxiproxyTest } from './toxiproxy-test.ts';

/** A server that says back what it hears, and a line to it. */
async function echoOverLine(t: ExecutionContext) {
  const server = createServer((socket) => socket.on('error', () => undefined).pipe(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const toxiproxy = await startToxiproxy();
  t.teardown(() => toxiproxy.stop());
  const line = await toxiproxy.line(`127.0.0.1:${(server.address() as AddressInfo).port}`);
  return { line, dial: () => dial(t, line.address) };
}

async function dial(t: ExecutionContext, address: string): Promise<Socket> {
  const [host = '', port] = address.split(':');
  const socket = connect({ host, port: Number(port) });
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** How long the answer to some bytes takes, in ms. */
async function askMs(socket: Socket, text = 'hello'): Promise<number> {
  const before = performance.now();
  socket.write(text);
  for (let received = 0; received < text.length; ) received += (await once(socket, 'data'))[0].length;
  return performance.now() - before;
}

toxiproxyTest([], 'a line slows what passes until it is cleared, on connections that are there', async (t) => {
  const { line, dial } = await echoOverLine(t);
  const socket = await dial();
  await askMs(socket);

  await line.add({ type: 'latency', attributes: { latency: 400 } });
  t.true((await askMs(socket)) >= 390);
  await line.clear();
  await line.add({ type: 'bandwidth', attributes: { rate: 10 } });
  t.true((await askMs(socket, 'x'.repeat(8_000))) >= 600);

  await line.clear();
  t.true((await askMs(socket)) < 390);
});

toxiproxyTest([], 'a line that is cut ends its connections and refuses new ones until it is restored', async (t) => {
  const { line, dial } = await echoOverLine(t);
  const socket = await dial();
  await askMs(socket);
  socket.on('error', () => undefined); // a reset is an end as well
  const closed = once(socket, 'close');
  await line.cut();
  await closed;
  await t.throwsAsync(dial());

  await line.restore();
  t.true((await askMs(await dial())) < 10_000);
});
