import { type TcpLine, tcpLine } from './tcp-line.ts';

/** A line to a database that a test can cut and hold. */
export interface DatabaseLine extends TcpLine {
  /** The database's URL by way of this line. */
  url: string;
}

export async function databaseLine(databaseUrl: string): Promise<DatabaseLine> {
  const url = new URL(databaseUrl);
  const socketFolder = url.searchParams.get('host');
  const port = Number(url.port || 5432);
  const line = await tcpLine(
    socketFolder ? { path: `${socketFolder}/.s.PGSQL.${port}` } : { host: url.hostname, port },
  );
  url.hostname = '127.0.0.1';
  url.port = String(line.port);
  url.searchParams.delete('host');
  return { ...line, url: url.href };
}
