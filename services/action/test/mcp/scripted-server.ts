import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { isJsonObject, parseJson } from '@parley/kernel/json';
import type { ExecutionContext } from 'ava';

export interface Message {
  id?: number;
  method: string;
  params: Record<string, unknown> & { name?: string; _meta?: Record<string, unknown> };
}

export interface Received {
  http: string;
  headers: IncomingMessage['headers'];
  message: Message;
}

/** Handles a request. The returned value is sent as the JSON result; undefined means that the handler sends the response itself. */
export type Handler = (message: Message, response: ServerResponse, request: IncomingMessage) => unknown;

/** Handlers by JSON-RPC method, or by HTTP method for GET and DELETE. */
export type Script = Record<string, Handler>;

export const sse = { 'content-type': 'text/event-stream' };

/** Formats a stream event with one message. */
export function event(message: object, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
}

export const hello = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: 'scripted', version: '1' },
};

/** Starts an MCP server with scripted handlers. By default it follows the protocol. */
export async function scriptedServer(t: ExecutionContext, script: Script = {}, host = '127.0.0.1') {
  const sockets = new Set<Socket>();
  const received: Received[] = [];
  let sessions = 0;
  const handlers: Script = {
    initialize(_, response) {
      sessions += 1;
      response.setHeader('mcp-session-id', `session-${sessions}`);
      return hello;
    },
    GET: (_, response) => void response.writeHead(405).end(),
    DELETE: (_, response) => void response.writeHead(200).end(),
    'notifications/initialized': (_, response) => void response.writeHead(202).end(),
    'notifications/cancelled': (_, response) => void response.writeHead(202).end(),
    'tools/list': () => ({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }),
    'tools/call': ({ params }) => ({ content: [{ type: 'text', text: JSON.stringify(params.arguments) }] }),
    ...script,
  };
  const http = createServer(async (request, response) => {
    response.on('error', () => undefined);
    const body = Buffer.concat(await request.toArray().catch(() => []));
    const parsed = parseJson(body.toString());
    const message = (isJsonObject(parsed) ? { params: {}, ...parsed } : { method: '', params: {} }) as Message;
    const name = request.method === 'POST' ? message.method : (request.method ?? '');
    received.push({ http: request.method ?? '', headers: request.headers, message });
    // A message without a method is the client's response to a request from this server.
    if (request.method === 'POST' && !message.method) return void response.writeHead(202).end();
    const result = await handlers[name]?.(message, response, request);
    if (result === undefined) return;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
  });
  http.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  http.listen(0, host);
  await once(http, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    http.close();
  });
  return {
    url: `http://${host}:${(http.address() as AddressInfo).port}/mcp`,
    received,
    get open() {
      return sockets.size;
    },
    /** Counts requests with this JSON-RPC or HTTP method. */
    count: (method: string) =>
      received.filter(({ http: verb, message }) => [verb, message.method].includes(method)).length,
    last: (method: string) => received.findLast(({ http: verb, message }) => [verb, message.method].includes(method)),
  };
}
