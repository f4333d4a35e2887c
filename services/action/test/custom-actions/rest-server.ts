import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { listen } from '@parley/kernel/http/listen';
import { outbound } from '@parley/outbound/outbound';
import { dnsResolver } from '@parley/outbound/resolve';
import { type DnsAnswer, type DnsQuestion, startDnsServer } from '@parley/testing/dns-server';
import type { ExecutionContext } from 'ava';
import { pino } from 'pino';

export interface SeenRequest {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Starts a REST server on loopback that has scripted responses and records requests. */
export async function restServer(
  t: ExecutionContext,
  answer: (request: SeenRequest, response: ServerResponse) => unknown,
  host = '127.0.0.1',
) {
  const seen: SeenRequest[] = [];
  const server = createServer(async (request, response) => {
    response.on('error', () => undefined);
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://server.test');
    const body = (await request.setEncoding('utf8').toArray()).join('');
    const one = {
      method: request.method ?? '',
      path: pathname,
      query: Object.fromEntries(searchParams),
      headers: request.headers,
      body,
    };
    seen.push(one);
    await answer(one, response);
  });
  const address = await listen(server, 0, host);
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://${address}`, seen };
}

/** Sends a JSON response. */
export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}

/** Returns the real outbound guard with its log. By default the guard allows loopback addresses. */
export async function guardedFetch(
  t: ExecutionContext,
  {
    allowlist = ['127.0.0.1'],
    dns = () => ({}),
  }: { allowlist?: string[]; dns?: (question: DnsQuestion) => DnsAnswer | undefined } = {},
) {
  const names = await startDnsServer(dns);
  t.teardown(() => names.stop());
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line) => void lines.push(line) });
  const resolve = dnsResolver({ servers: [names.address] });
  return { log, lines, outbound: outbound({ allowlist, ports: ['1-65535'], resolve, log }) };
}
