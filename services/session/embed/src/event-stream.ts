import type { ParleyError } from './parley-error.ts';
import { fromGraphError, type GraphError } from './parley-error.ts';

export interface EventStreamOptions<Data> {
  /** The URL of the WebSocket. */
  url: string;
  token: string;
  query: string;
  variables: object;
  /** Called when the server has accepted the token. */
  onOpen: () => void;
  /** Called when a pong arrives, which shows that the server still accepts the token. */
  onPong: () => void;
  onData: (data: Data) => void;
  /** Ends the stream and closes the socket when it aborts. */
  signal: AbortSignal;
}

/** How a stream ended: the subscription completed, the subscription failed with an error, or the socket closed. */
export type StreamEnd = { completed: true } | { error: ParleyError } | { closeCode: number; reason: string };

interface Message {
  type: string;
  payload?: unknown;
}

/** Time in ms to wait for the server's first message, or for any message after a ping. After this time the connection counts as lost. */
const answerTimeoutMs = 12_000;
const pingMs = 20_000;
const subscriptionId = '1';

/** The close code for a connection that the client gives up; servers never send it. */
const lost = 4_999;

/**
 * Reads one subscription on its own WebSocket by the protocol graphql-transport-ws. Resolves when the subscription has ended; never
 * rejects.
 */
export function readEventStream<Data>(options: EventStreamOptions<Data>): Promise<StreamEnd> {
  const { url, token, query, variables, onOpen, onPong, onData, signal } = options;
  const { promise, resolve } = Promise.withResolvers<StreamEnd>();
  const socket = new WebSocket(url, 'graphql-transport-ws');
  /** Aborts when the stream has ended, so that later messages of the socket are ignored. */
  const listening = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;

  const send = (message: object) => socket.send(JSON.stringify(message));

  /** Closes the socket if nothing arrives within `answerTimeoutMs`. */
  function expectAnswer(): void {
    clearTimeout(timer);
    timer = setTimeout(() => end({ closeCode: lost, reason: 'The server does not answer' }), answerTimeoutMs);
  }

  /** Schedules a ping. If a connection breaks without a close, a missing pong is the only sign. */
  function pingLater(): void {
    clearTimeout(timer);
    timer = setTimeout(() => {
      send({ type: 'ping' });
      expectAnswer();
    }, pingMs);
  }

  function end(how: StreamEnd): void {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    listening.abort();
    socket.close();
    resolve(how);
  }

  function onAbort(): void {
    end({ closeCode: 1_000, reason: 'Closed by the client' });
  }

  function take({ type, payload }: Message): void {
    if (type === 'connection_ack') {
      onOpen();
      send({ id: subscriptionId, type: 'subscribe', payload: { query, variables } });
    } else if (type === 'ping') send({ type: 'pong' });
    else if (type === 'pong') onPong();
    else if (type === 'next') {
      const { data, errors } = Object(payload) as { data?: Data; errors?: GraphError[] };
      if (errors?.[0]) end({ error: fromGraphError(errors[0]) });
      else if (data) onData(data);
    } else if (type === 'error') end({ error: fromGraphError((Object(payload) as GraphError[])[0] ?? {}) });
    else if (type === 'complete') end({ completed: true });
  }

  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort);
  expectAnswer();
  socket.addEventListener(
    'open',
    () =>
      send({ type: 'connection_init', payload: { 'x-app-platform': 'customer', authorization: `Bearer ${token}` } }),
    listening,
  );
  socket.addEventListener(
    'message',
    ({ data }) => {
      pingLater();
      take(JSON.parse(String(data)));
    },
    listening,
  );
  socket.addEventListener('close', ({ code, reason }) => end({ closeCode: code, reason }), listening);
  socket.addEventListener('error', () => end({ closeCode: 1_006, reason: 'The connection was lost' }), listening);
  return promise;
}
