import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ExecutionContext } from 'ava';

/** What stands before a mesh: it says where a client comes from, and its connections can be cut. */
export interface Balancer {
  url: string;
  /** Breaks every connection through it; new ones pass. Answers how many there were. */
  cut(): number;
}

/** Passes HTTP and WebSocket on to a mesh of this machine, as from an address of its own, until the test ends. */
export async function startBalancer(t: ExecutionContext, target: string): Promise<Balancer> {
  const { hostname: host, port, pathname } = new URL(target);
  const open = new Set<Duplex>();
  const address = `198.18.${randomInt(256)}.${randomInt(256)}`;
  const headersOf = (incoming: IncomingMessage) => ({ ...incoming.headers, 'x-forwarded-for': address });

  const server = createServer((incoming, outgoing) => {
    const { method, url: path } = incoming;
    const passed = request({ host, port, method, path, headers: headersOf(incoming) }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });
  server.on('connection', (socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => socket.destroy());
  });
  server.on('upgrade', (incoming: IncomingMessage, client: Duplex, head: Buffer) => {
    const upstream = connect(Number(port), host);
    const headers = Object.entries(headersOf(incoming)).map(([name, value]) => `${name}: ${String(value)}\r\n`);
    upstream.write(`GET ${incoming.url} HTTP/1.1\r\n${headers.join('')}\r\n`);
    upstream.write(head);
    upstream.pipe(client).pipe(upstream);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });

  function cut(): number {
    const count = open.size;
    for (const socket of open) socket.destroy();
    return count;
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    cut();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`, cut };
}
