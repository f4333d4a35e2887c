import { createServer as createHttpServer, type IncomingMessage, request } from 'node:http';
import { connect, createServer } from 'node:net';
import { listen } from '@parley/kernel/http/listen';
import type { ExecutionContext } from 'ava';

export interface Rewriting {
  /** Replaces data from the server with data of the same length. */
  answers?: (bytes: Buffer) => Buffer;
  /** Returns a response to send to the client instead of forwarding its request. */
  inPlace?: (said: string) => string | undefined;
}

/** Starts a proxy that changes the responses of a healthy engine. @returns the proxy's `host:port` */
export async function rewritingProxy(
  t: ExecutionContext,
  at: string,
  { answers, inPlace }: Rewriting,
): Promise<string> {
  const { hostname, port } = new URL(`tcp://${at}`);
  const server = createServer((client) => {
    const upstream = connect({ host: hostname, port: Number(port) });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      socket.on('error', () => undefined).on('close', () => other.destroy());
    client.on('data', (bytes) => {
      const answer = inPlace?.(String(bytes));
      if (answer === undefined) upstream.write(bytes);
      else client.write(answer);
    });
    upstream.on('data', (bytes) => client.write(answers?.(bytes) ?? bytes));
  });
  t.teardown(() => server.close());
  return listen(server);
}

/** Returns a function that replaces a text in bytes with another text of the same length. */
export function replacing(from: string, to: string): (bytes: Buffer) => Buffer {
  return (bytes) => Buffer.from(bytes.toString('latin1').replaceAll(from, to), 'latin1');
}

export interface HttpFaults {
  /** Selects the requests that are answered with 403, as S3 answers if a login lacks a right. */
  refuses?: (request: IncomingMessage) => boolean;
  /** Whether the Host header contains the server's own address instead of the proxy's. */
  changesHost?: boolean;
}

/** Starts a proxy in front of an S3 service. @returns the proxy's URL */
export async function s3Proxy(t: ExecutionContext, url: string, { refuses, changesHost }: HttpFaults): Promise<string> {
  const target = new URL(url);
  const server = createHttpServer((incoming, answer) => {
    if (refuses?.(incoming)) {
      incoming.resume();
      answer.writeHead(403, { 'content-type': 'application/xml' });
      answer.end(incoming.method === 'HEAD' ? undefined : '<Error><Code>AccessDenied</Code></Error>');
      return;
    }
    const headers = { ...incoming.headers, ...(changesHost && { host: target.host }) };
    const { hostname, port } = target;
    const passed = request({ hostname, port, method: incoming.method, path: incoming.url, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 500, response.headers);
      response.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    incoming.pipe(passed);
  });
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://${await listen(server)}`;
}
