import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { type Tap, TcpProxy } from './tcp-proxy.ts';

/** Starts a server that sends its name to each client, then echoes what it receives. */
async function named(t: ExecutionContext, name: string) {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
    socket.write(name);
    socket.pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = () => {
    server.close();
    for (const socket of open) socket.destroy();
  };
  t.teardown(stop);
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, open, stop };
}

async function proxied(t: ExecutionContext, targets: string[], tap?: () => Tap): Promise<TcpProxy> {
  const proxy = await new TcpProxy(targets, tap && { tap }).open();
  t.teardown(() => proxy.close());
  return proxy;
}

/** Connects through the proxy. Resolves when the server has sent its name. */
async function visit(t: ExecutionContext, { port }: TcpProxy) {
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => undefined);
  t.teardown(() => socket.destroy());
  const [first] = (await once(socket, 'data')) as [Buffer];
  return { socket, name: first.toString() };
}

test('connections go to the server that has the fewest', async (t) => {
  const [one, two] = [await named(t, 'one'), await named(t, 'two')];
  const proxy = await proxied(t, [one.address, two.address]);
  const names = [];
  for (let n = 0; n < 4; n += 1) names.push((await visit(t, proxy)).name);

  t.deepEqual(names.toSorted(), ['one', 'one', 'two', 'two']);
});

test('new connections go to the servers of now, and open ones stay', async (t) => {
  const [one, two] = [await named(t, 'one'), await named(t, 'two')];
  const proxy = await proxied(t, [one.address]);
  const before = await visit(t, proxy);
  proxy.retarget([two.address]);

  t.is((await visit(t, proxy)).name, 'two');
  before.socket.write('still here');
  t.is(String((await once(before.socket, 'data'))[0]), 'still here');
});

test('like kube-proxy, it can leave a refused connection refused', async (t) => {
  const [one, two] = [await named(t, 'one'), await named(t, 'two')];
  const proxy = await new TcpProxy([one.address, two.address], { passesOver: false }).open();
  t.teardown(() => proxy.close());
  one.stop();
  const socket = connect({ host: '127.0.0.1', port: proxy.port });
  await once(
    socket.on('error', () => undefined),
    'close',
  );
  t.is(socket.bytesRead, 0);
});

test('a server that is away is passed over', async (t) => {
  const [one, two] = [await named(t, 'one'), await named(t, 'two')];
  const proxy = await proxied(t, [one.address, two.address]);
  const { socket } = await visit(t, proxy);
  one.stop();
  await once(socket, 'close');

  for (let n = 0; n < 3; n += 1) t.is((await visit(t, proxy)).name, 'two');
});

for (const [how, tap] of [
  ['as it is', undefined],
  ['changed', () => ({ asked: (bytes: Buffer) => [bytes], answered: (bytes: Buffer) => [bytes] })],
] as const) {
  test(`what both sides say arrives whole, ${how}, also after one has nothing more to say`, async (t) => {
    const one = await named(t, 'one');
    const { socket } = await visit(t, await proxied(t, [one.address], tap));
    const said = 'word '.repeat(100_000);
    socket.end(said);

    t.is(await text(socket), said);
    await eventually('nothing is left open', () => one.open.size === 0);
  });
}

test('where nobody answers, the connection is closed', async (t) => {
  const one = await named(t, 'one');
  one.stop();
  const { port } = await proxied(t, [one.address]);
  const socket = connect({ host: '127.0.0.1', port });
  await once(socket, 'connect');
  const received = text(socket);
  await once(socket, 'close');
  t.is(await received, '');
});

test('closed, it has cut what was open and refuses connections, until it is open again', async (t) => {
  const one = await named(t, 'one');
  const proxy = await proxied(t, [one.address]);
  const { socket } = await visit(t, proxy);
  const { port } = proxy;
  const closed = once(socket, 'close');
  await proxy.close();
  await closed;
  await eventually('the server sees it', () => one.open.size === 0);
  await t.throwsAsync(once(connect({ host: '127.0.0.1', port }), 'connect'), { code: 'ECONNREFUSED' });

  await proxy.open();
  t.is(proxy.port, port);
  t.is((await visit(t, proxy)).name, 'one');
});

test('a tap holds bytes back, cuts them into pieces and ends connections', async (t) => {
  const one = await named(t, 'one');
  const gate = createGate();
  const tap = (): Tap => ({
    asked(bytes) {
      if (bytes.includes('bad')) throw new Error('never passes');
      return [bytes];
    },
    async *answered(bytes) {
      for (const byte of bytes) {
        await gate.pass();
        yield Buffer.of(byte);
      }
    },
  });
  const { port } = await proxied(t, [one.address], tap);
  const socket = connect({ host: '127.0.0.1', port });
  t.teardown(() => socket.destroy());
  let received = '';
  socket
    .on('error', () => undefined)
    .on('data', (bytes) => {
      received += String(bytes);
    });
  for (const soFar of ['o', 'on', 'one']) {
    gate.release();
    await eventually('one more byte', () => received.length >= soFar.length);
    t.is(received, soFar);
  }
  const closed = once(socket, 'close');
  gate.open();
  socket.write('bad');
  await closed;
  t.is(received, 'one');
});
