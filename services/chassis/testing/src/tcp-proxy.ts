import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Server, type Socket } from 'node:net';

/** A TCP proxy in front of a server. A test can close or stall the proxy's connections. */
export interface TcpProxy {
  /** The proxy's port on 127.0.0.1. */
  port: number;
  /** Closes all connections; new ones are refused until `restore`. */
  cut(): Promise<void>;
  /** Closes all open connections. The proxy still accepts new ones. */
  dropConnections(): void;
  /** Accepts connections again after `cut`, on the same port. */
  restore(): Promise<void>;
  /** Stalls the open connections without closing them; new connections work. */
  hold(): void;
  close(): Promise<void>;
}

export async function tcpProxy(upstream: NetConnectOpts): Promise<TcpProxy> {
  const pairs = new Set<[Socket, Socket]>();

  const serve = async (port: number): Promise<Server> => {
    const server = createServer((client) => {
      const target = connect(upstream);
      const pair: [Socket, Socket] = [client, target];
      pairs.add(pair);
      for (const socket of pair) {
        socket.on('error', () => undefined);
        socket.on('close', () => {
          pairs.delete(pair);
          for (const end of pair) end.destroy();
        });
      }
      client.pipe(target).pipe(client);
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };

  let server = await serve(0);
  const { port } = server.address() as AddressInfo;
  const dropConnections = () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  };
  const cut = async () => {
    const closed = server.listening ? once(server, 'close') : undefined;
    server.close();
    dropConnections();
    await closed;
  };
  return {
    port,
    cut,
    dropConnections,
    async restore() {
      server = await serve(port);
    },
    hold() {
      for (const [client, target] of pairs) {
        client.unpipe(target).resume(); // a socket that is not read would not notice that its peer closes it
        target.unpipe(client).resume();
      }
    },
    close: cut,
  };
}
