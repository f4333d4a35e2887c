import { fromGraphError, type GraphError } from './parley-error.ts';
import type { ParleyError } from './parley-error.ts';

export interface EventStreamOptions<Data> {
  /** Of the WebSocket. */
  url: string;
  token: string;
  query: string;
  variables: object;
  /** The server has accepted the token. */
  onOpen: () => void;
  onData: (data: Data) => void;
  /** Closes the socket. */
  signal: AbortSignal;
}

/** How a stream ended: after its last event, by a refusal of the subscription, or with its socket. */
export type StreamEnd = { completed: true } | { error: ParleyError } | { closeCode: number; reason: string };

interface Message {
  type: string;
  payload?: unknown;
}

/** A server that takes longer is taken for lost. */
const answerTimeoutMs = 12_000;
const pingMs = 20_000;
const subscriptionId = '1';

/** The close code of a socket that this side gave up, which is not one that a server sends. */
const lost = 4_999;

/** One subscription on a WebSocket of its own, in the protocol graphql-transport-ws. Resolves when it has ended; it never rejects. */
export function readEventStream<Data>(options: EventStreamOptions<Data>): Promise<StreamEnd> {
  const { url, token, query, variables, onOpen, onData, signal } = options;
  const { promise, resolve } = Promise.withResolvers<StreamEnd>();
  const socket = new WebSocket(url, 'graphql-transport-ws');
  let timer: ReturnType<typeof setTimeout> | undefined;

  const send = (message: object) => socket.send(JSON.stringify(message));

  /** The socket counts as lost if nothing arrives in time. */
  function expectAnswer(): void {
    clearTimeout(timer);
    timer = setTimeout(() => end({ closeCode: lost, reason: 'The server does not answer' }), answerTimeoutMs);
  }

  /** A connection that has silently gone is noticed by the answer to a ping only. */
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
    socket.onopen = socket.onmessage = socket.onclose = socket.onerror = null;
    socket.onerror = () => undefined; // of a socket that is closed before it is open
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
    else if (type === 'next') {
      const { data, errors } = payload as { data?: Data; errors?: GraphError[] };
      if (errors?.[0]) end({ error: fromGraphError(errors[0]) });
      else if (data) onData(data);
    } else if (type === 'error') end({ error: fromGraphError((payload as GraphError[])[0] ?? {}) });
    else if (type === 'complete') end({ completed: true });
  }

  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort);
  expectAnswer();
  socket.onopen = () =>
    send({ type: 'connection_init', payload: { 'x-app-platform': 'customer', authorization: `Bearer ${token}` } });
  socket.onmessage = ({ data }) => {
    pingLater();
    take(JSON.parse(String(data)));
  };
  socket.onclose = ({ code, reason }) => end({ closeCode: code, reason });
  socket.onerror = () => end({ closeCode: 1_006, reason: 'The connection was lost' });
  return promise;
}
