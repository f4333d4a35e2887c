import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Server, type Socket } from 'node:net';

/** A line to a database that a test can cut and hold. */
export interface DatabaseLine {
  /** The database's URL by way of this line. */
  url: string;
  /** Ends all connections without a word; new ones are refused until `restore`. */
  cut(): Promise<void>;
  /** Lets new connections through again, at the same address. */
  restore(): Promise<void>;
  /** Nothing passes any more on connections that are there; new ones are whole. */
  hold(): void;
  close(): Promise<void>;
}

export async function databaseLine(databaseUrl: string): Promise<DatabaseLine> {
  const target = new URL(databaseUrl);
  const socketFolder = target.searchParams.get('host');
  const upstream: NetConnectOpts = socketFolder
    ? { path: `${socketFolder}/.s.PGSQL.${target.port || 5432}` }
    : { host: target.hostname, port: Number(target.port || 5432) };
  const pairs = new Set<[Socket, Socket]>();

  const serve = async (port: number): Promise<Server> => {
    const server = createServer((client) => {
      const database = connect(upstream);
      const pair: [Socket, Socket] = [client, database];
      pairs.add(pair);
      for (const socket of pair) {
        socket.on('error', () => undefined);
        socket.on('close', () => {
          pairs.delete(pair);
          for (const end of pair) end.destroy();
        });
      }
      client.pipe(database).pipe(client);
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  const endAll = () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  };

  let server = await serve(0);
  const { port } = server.address() as AddressInfo;
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  url.searchParams.delete('host');
  const cut = async () => {
    const closed = server.listening ? once(server, 'close') : undefined;
    server.close();
    endAll();
    await closed;
  };
  return {
    url: url.href,
    cut,
    async restore() {
      server = await serve(port);
    },
    hold() {
      for (const [client, database] of pairs) {
        client.unpipe(database).resume(); // what is not read does not end either
        database.unpipe(client).resume();
      }
    },
    close: cut,
  };
}
