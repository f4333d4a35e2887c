import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import type { DomainError } from '@parley/kernel/errors';
import { type DnsAnswer, type DnsQuestion, startDnsServer } from '@parley/testing/dns-server';
import type { ExecutionContext } from 'ava';
import { pino } from 'pino';
import { type OutboundRequest, outbound } from '../src/outbound.ts';
import { dnsResolver } from '../src/resolve.ts';

const limits: OutboundRequest = { timeoutMs: 20_000, maxBytes: 1_000_000 };

/** An HTTP server that counts connections, on loopback. */
export async function server(t: ExecutionContext, serve: RequestListener) {
  const sockets = new Set<Socket>();
  let connections = 0;
  const requests: IncomingMessage[] = [];
  const http = createServer((request, response) => {
    requests.push(request);
    response.on('error', () => undefined);
    serve(request, response);
  });
  http.on('connection', (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    http.close();
  });
  return {
    port: (http.address() as AddressInfo).port,
    requests,
    get connections() {
      return connections;
    },
    get open() {
      return [...sockets].filter(({ destroyed }) => !destroyed).length;
    },
  };
}

export interface GuardOptions {
  dns?: (question: DnsQuestion) => DnsAnswer | undefined;
  allowlist?: string[];
  ports?: (string | number)[];
}

/** Makes an outbound client that resolves host names with a DNS server of the test. */
export async function guard(
  t: ExecutionContext,
  { dns = () => ({}), allowlist = [], ports = ['1-65535'] }: GuardOptions = {},
) {
  const names = await startDnsServer(dns);
  t.teardown(() => names.stop());
  const logged: unknown[] = [];
  const guarded = outbound({
    allowlist,
    ports: ports.map(String),
    resolve: dnsResolver({ servers: [names.address] }),
    log: pino({ base: null, timestamp: false }, { write: (line) => void logged.push(JSON.parse(line)) }),
  });
  return {
    ...guarded,
    logged,
    asked: names.asked,
    call: (url: string, request: Partial<OutboundRequest> = {}) => guarded.fetch(url, { ...limits, ...request }),
    async refusal(url: string, request: Partial<OutboundRequest> = {}): Promise<string> {
      try {
        const { status } = await guarded.fetch(url, { ...limits, ...request });
        return `answered ${status}`;
      } catch (error) {
        const { kind, reason } = error as DomainError;
        return `${kind} ${reason}`;
      }
    },
  };
}

export const loopback = ({ type }: DnsQuestion): DnsAnswer => (type === 'A' ? { addresses: ['127.0.0.1'] } : {});

/** Starts a TCP server that calls `answer` once per connection, when the first data arrive. Returns its URL. */
export async function rawServer(t: ExecutionContext, answer: (socket: Socket) => void): Promise<string> {
  const tcp = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    t.teardown(() => socket.destroy());
    socket.once('data', () => answer(socket));
  });
  tcp.listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  t.teardown(() => tcp.close());
  return `http://127.0.0.1:${(tcp.address() as AddressInfo).port}/`;
}

/** Writes without end, as fast as the peer reads. */
export function flood(socket: Socket, chunk: string | Buffer): void {
  const more = () => {
    while (socket.writable && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
}
