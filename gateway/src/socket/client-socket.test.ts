import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { WebSocket, WebSocketServer } from 'ws';
import { clientSocket } from './client-socket.ts';

/** Creates both ends of a client's socket. Each frame waits at the gate until the test releases it. */
async function setup(t: ExecutionContext) {
  const gate = createGate();
  const signals: AbortSignal[] = [];
  const ClientSocket = clientSocket(
    { maxUnsentBytes: 1_000_000, maxMessagesPerSecond: 1_000 },
    {
      async run({ signal }, work) {
        signals.push(signal());
        await gate.pass();
        work();
        return true;
      },
    },
  );
  const http = createServer();
  const sockets = new WebSocketServer({ server: http, WebSocket: ClientSocket });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const atClient = new WebSocket(`ws://127.0.0.1:${(http.address() as AddressInfo).port}`);
  t.teardown(() => {
    atClient.terminate();
    sockets.close();
    http.close();
  });
  const [[atServer]] = await Promise.all([
    once(sockets, 'connection') as Promise<InstanceType<typeof ClientSocket>[]>,
    once(atClient, 'open'),
  ]);
  if (!atServer) throw new Error('There is no socket');
  const messages: string[] = [];
  atServer.on('message', (data) => messages.push(String(data)));
  return { atClient, atServer, messages, gate, signals };
}

test('a socket is not read while its frames are queued, and then all frames are handled in order', async (t) => {
  const { atClient, messages, gate } = await setup(t);
  const names = Array.from({ length: 100 }, (_, n) => `${n}`);
  // 40 MB: more than any system keeps in the buffers of one connection.
  for (const name of names) atClient.send(name + ' '.repeat(400_000));
  let before = -1;
  let polls = 0;
  await eventually('nothing moves any more', () => {
    polls = atClient.bufferedAmount === before ? polls + 1 : 0;
    before = atClient.bufferedAmount;
    return polls > 20;
  });
  t.true(before > 0, 'the rest waits at the client');
  t.is(messages.length, 0);
  gate.open();
  await eventually('all are handled', () => messages.length === names.length);
  t.deepEqual(
    messages.map((message) => message.trim()),
    names,
  );
});

test('frames that wait when their socket closes are dropped', async (t) => {
  const { atClient, atServer, messages, gate } = await setup(t);
  for (let n = 0; n < 3; n += 1) atClient.send('x');
  await eventually('they wait', () => atServer.isPaused);
  atServer.close(4403);
  gate.open();
  await once(atClient, 'close');
  t.is(messages.length, 0);
});

test('a socket with too many refused operations is closed with 4429', async (t) => {
  const { atClient, atServer } = await setup(t);
  for (let n = 0; n < 20; n += 1) atServer.countRefusal();
  t.is(atServer.readyState, WebSocket.OPEN);
  for (let n = 0; n < 21; n += 1) atServer.countRefusal();
  t.is((await once(atClient, 'close'))[0], 4429);
});

test('the signal of frames that wait aborts when their socket closes', async (t) => {
  const { atClient, signals } = await setup(t);
  atClient.send('x');
  await eventually('it waits', () => signals.length === 1);
  t.false(signals[0]?.aborted);
  atClient.terminate();
  await eventually('it does not wait any more', () => signals[0]?.aborted);
});

test('pongs are not queued', async (t) => {
  const { atClient, atServer, messages, gate } = await setup(t);
  atClient.send('x');
  const pong = once(atServer, 'pong');
  atServer.ping();
  await pong;
  t.is(messages.length, 0);
  gate.open();
  await eventually('the message is handled', () => messages.length === 1);
});
