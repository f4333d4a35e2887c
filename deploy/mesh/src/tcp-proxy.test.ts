import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { eventually } from '@parley/chassis/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { startTcpProxy } from './tcp-proxy.ts';

/** A server that says its name to whoever connects, and then repeats what it hears. */
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

async function proxied(t: ExecutionContext, targets: string[]) {
  const proxy = await startTcpProxy(targets);
  let closed = false;
  t.teardown(() => (closed ? undefined : proxy.close()));
  return {
    ...proxy,
    close() {
      closed = true;
      return proxy.close();
    },
  };
}

/** A connection whose other side has said who it is. */
async function visit(t: ExecutionContext, port: number) {
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => undefined);
  t.teardown(() => socket.destroy());
  const [first] = (await once(socket, 'data')) as [Buffer];
  return { socket, name: first.toString() };
}

test('connections go to whoever has the fewest', async (t) => {
  const [one, two] = [await named(t, 'one'), await named(t, 'two')];
  const { port } = await proxied(t, [one.address, two.address]);
  const names = [];
  for (let n = 0; n < 4; n += 1) names.push((await visit(t, port)).name);

  t.deepEqual(names.toSorted(), ['one', 'one', 'two', 'two']);
});

test('a server that is away is passed over, and taken again once it is back', async (t) => {
  const [one, two] = [await named(t, 'one'), await named(t, 'two')];
  const { port } = await proxied(t, [one.address, two.address]);
  const { socket } = await visit(t, port);
  one.stop();
  await once(socket, 'close');

  for (let n = 0; n < 3; n += 1) t.is((await visit(t, port)).name, 'two');
});

test('what both sides say arrives whole, also after one has nothing more to say', async (t) => {
  const one = await named(t, 'one');
  const { port } = await proxied(t, [one.address]);
  const { socket } = await visit(t, port);
  const said = 'word '.repeat(100_000);
  socket.end(said);

  t.is(await text(socket), said);
  await eventually('nothing is left open', () => one.open.size === 0);
});

test('where nobody answers, the connection is closed', async (t) => {
  const one = await named(t, 'one');
  one.stop();
  const { port } = await proxied(t, [one.address]);
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => undefined);
  await once(socket, 'close');
  t.pass();
});

test('its end cuts what is open', async (t) => {
  const one = await named(t, 'one');
  const proxy = await proxied(t, [one.address]);
  const { socket } = await visit(t, proxy.port);
  const closed = once(socket, 'close');
  await proxy.close();
  await closed;
  await eventually('the server sees it', () => one.open.size === 0);
  t.pass();
});
