import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Server, type Socket } from 'node:net';

/** A line to a server that a test can cut and hold. */
export interface TcpLine {
  /** Where it is entered, on 127.0.0.1. */
  port: number;
  /** Closes all connections; new ones are refused until `restore`. */
  cut(): Promise<void>;
  /** Closes all connections; new ones are accepted. */
  dropConnections(): void;
  /** Lets new connections through again, at the same address. */
  restore(): Promise<void>;
  /** Nothing passes any more on connections that are there, and they do not end; new ones are whole. */
  hold(): void;
  close(): Promise<void>;
}

export async function tcpLine(upstream: NetConnectOpts): Promise<TcpLine> {
  const pairs = new Set<[Socket, Socket]>();

  const serve = async (port: number): Promise<Server> => {
    const server = createServer((client) => {
      const far = connect(upstream);
      const pair: [Socket, Socket] = [client, far];
      pairs.add(pair);
      for (const socket of pair) {
        socket.on('error', () => undefined);
        socket.on('close', () => {
          pairs.delete(pair);
          for (const end of pair) end.destroy();
        });
      }
      client.pipe(far).pipe(client);
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
      for (const [client, far] of pairs) {
        client.unpipe(far).resume(); // what is not read does not end either
        far.unpipe(client).resume();
      }
    },
    close: cut,
  };
}
