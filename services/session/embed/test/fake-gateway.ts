import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import { type WebSocket, WebSocketServer } from 'ws';

/** A request to the fake gateway. */
export interface Call {
  query: string;
  variables: Record<string, unknown>;
  headers: IncomingMessage['headers'];
}

/** A subscription that a client has opened. */
export interface Follower {
  after: string;
  authorization: string;
  next: (event: object) => void;
  error: (code: string, message?: string) => void;
  complete: () => void;
  /** Drops the connection without a close frame. */
  cut: () => void;
  close: (code: number) => void;
  send: (message: object) => void;
  received: { type: string }[];
}

type Respond = (call: Call, response: ServerResponse) => object | undefined;

/** Creates a server that speaks the gateway's protocols. Tests use it for failures that they cannot cause in a real gateway. */
export async function fakeGateway(
  t: ExecutionContext,
  respond: Respond,
  accepts: (token: string) => boolean = () => true,
) {
  const calls: Call[] = [];
  const followers: Follower[] = [];
  const waiting: (() => void)[] = [];
  const changed = () => {
    for (const check of waiting) check();
  };

  const http = createServer(async (request, response) => {
    const body = (await json(request)) as Pick<Call, 'query' | 'variables'>;
    const call = { ...body, headers: request.headers };
    calls.push(call);
    const answer = respond(call, response);
    if (answer) response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    changed();
  });
  const sockets = new WebSocketServer({
    server: http,
    handleProtocols: (names) => names.has('graphql-transport-ws') && 'graphql-transport-ws',
  });
  sockets.on('connection', (socket) => {
    let authorization = '';
    const received: { type: string }[] = [];
    socket.on('message', (data) => {
      const message = JSON.parse(String(data)) as { type: string; id?: string; payload?: Record<string, never> };
      received.push(message);
      if (message.type === 'connection_init') {
        authorization = message.payload?.['authorization'] ?? '';
        if (message.payload?.['x-app-platform'] === 'customer' && accepts(authorization))
          send(socket, { type: 'connection_ack' });
        else socket.close(4403, 'Forbidden');
      } else if (message.type === 'subscribe') {
        const { id } = message;
        const variables = message.payload?.['variables'] as unknown as { after: string };
        followers.push({
          authorization,
          received,
          after: variables.after,
          next: (event) => send(socket, { id, type: 'next', payload: { data: { sessionEvents: event } } }),
          error: (code, text = code) =>
            send(socket, { id, type: 'error', payload: [{ message: text, extensions: { code } }] }),
          complete: () => send(socket, { id, type: 'complete' }),
          cut: () => socket.terminate(),
          close: (code) => socket.close(code),
          send: (value) => send(socket, value),
        });
      }
      changed();
    });
    socket.on('close', changed);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    for (const socket of sockets.clients) socket.terminate();
    http.closeAllConnections();
    http.close();
  });

  return {
    endpoint: `http://127.0.0.1:${(http.address() as AddressInfo).port}/graphql`,
    calls,
    followers,
    /** Resolves when `holds` returns true. It is called at once, and again after every message and request. */
    until(holds: () => boolean): Promise<void> {
      return new Promise((resolve) => {
        const check = () => holds() && resolve();
        waiting.push(check);
        check();
      });
    },
    /** Waits for the nth subscription. The first one is 1. */
    async follower(n: number): Promise<Follower> {
      await this.until(() => followers.length >= n);
      return followers[n - 1] as Follower;
    },
  };
}

function send(socket: WebSocket, message: object): void {
  socket.send(JSON.stringify(message));
}
