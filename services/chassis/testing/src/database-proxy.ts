import { type TcpProxy, tcpProxy } from './tcp-proxy.ts';

/** A `TcpProxy` in front of a database. */
export interface DatabaseProxy extends TcpProxy {
  /** The URL of the database through the proxy. */
  url: string;
}

export async function databaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const url = new URL(databaseUrl);
  const socketFolder = url.searchParams.get('host');
  const port = Number(url.port || 5432);
  const proxy = await tcpProxy(
    socketFolder ? { path: `${socketFolder}/.s.PGSQL.${port}` } : { host: url.hostname, port },
  );
  url.hostname = '127.0.0.1';
  url.port = String(proxy.port);
  url.searchParams.delete('host');
  return { ...proxy, url: url.href };
}
