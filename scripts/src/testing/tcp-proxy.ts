import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { ExecutionContext } from 'ava';

/** A wire that can be cut. */
export interface TcpProxy {
  port: number;
  /** Breaks every connection through it; new ones pass. Answers how many there were. */
  cut(): number;
}

/** Passes connections on to a port of this machine, until the test ends. */
export async function startTcpProxy(t: ExecutionContext, target: number): Promise<TcpProxy> {
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    open.add(client);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
    client.on('close', () => open.delete(client));
  });
  const cut = () => {
    const count = open.size;
    for (const socket of open) socket.resetAndDestroy();
    return count;
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    cut();
  });
  return { port: (server.address() as AddressInfo).port, cut };
}
