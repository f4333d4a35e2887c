import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

const dialTimeoutMs = 1_000;

/** One address in front of several servers. */
export interface TcpProxy {
  port: number;
  /** Takes no more connections and cuts those that are open. */
  close(): Promise<void>;
}

/**
 * Hands each connection to the server that has the fewest of them, and to another one where that does not take it. It knows
 * nothing of what is said: HTTP and WebSocket pass alike, and it does what a Service does in a cluster, so that units are
 * configured with one address here as there.
 * @throws Error with code EADDRINUSE where `port` is taken; 0 takes any free one.
 */
export async function startTcpProxy(targets: string[], { port = 0, host = '127.0.0.1' } = {}): Promise<TcpProxy> {
  const open = new Map(targets.map((target) => [target, 0]));
  const sockets = new Set<Socket>();

  const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (client) => {
    hold(client);
    void pass(client);
  });

  function hold(socket: Socket): void {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
  }

  async function pass(client: Socket): Promise<void> {
    const byLoad = [...open].toSorted(([, one], [, other]) => one - other).map(([target]) => target);
    for (const target of byLoad) {
      open.set(target, (open.get(target) ?? 0) + 1);
      const upstream = await dial(target);
      if (upstream && !client.destroyed) {
        hold(upstream);
        upstream.once('close', () => {
          release(target);
          client.destroySoon(); // what it said last is still on its way
        });
        client.once('close', () => upstream.destroy());
        upstream.pipe(client).pipe(upstream);
        client.resume();
        return;
      }
      upstream?.destroy();
      release(target);
    }
    client.destroy();
  }

  function release(target: string): void {
    open.set(target, (open.get(target) ?? 1) - 1);
  }

  server.listen(port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

async function dial(target: string): Promise<Socket | undefined> {
  const [host = '', port] = target.split(':');
  const socket = connect({ host, port: Number(port), allowHalfOpen: true, noDelay: true });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(dialTimeoutMs) });
    return socket;
  } catch {
    socket.on('error', () => undefined);
    socket.destroy();
    return undefined;
  }
}
