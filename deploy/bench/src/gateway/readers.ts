import { once } from 'node:events';
import { WebSocket } from 'ws';
import { chunkSubscription } from './chunk-event.ts';

/** Many open sockets, each with one subscription where that is wanted, which count what they get and read nothing of it. */
export interface Readers {
  /** Resolves when so many more events have come over all sockets together. */
  received(events: number): Promise<void>;
  /** How many events have come over all sockets together. */
  count(): number;
  close(): Promise<void>;
}

export interface ReadersOptions {
  url: string;
  count: number;
  token: string;
  subscribe: boolean;
  /** Default 1. */
  sessionId?: number;
}

/** How many sockets are opened at once. */
const atOnce = 25;

export async function openReaders({ url, count, token, subscribe, sessionId = 1 }: ReadersOptions): Promise<Readers> {
  let received = 0;
  let wanted: { at: number; resolve: () => void } | undefined;
  const open: WebSocket[] = [];

  async function openOne(): Promise<void> {
    const socket = new WebSocket(url.replace(/^http/u, 'ws'), 'graphql-transport-ws');
    open.push(socket);
    await once(socket, 'open');
    const payload = { 'x-app-platform': 'customer', authorization: `Bearer ${token}` };
    socket.send(JSON.stringify({ type: 'connection_init', payload }));
    await once(socket, 'message');
    socket.on('message', () => {
      received += 1;
      if (wanted && received >= wanted.at) wanted.resolve();
    });
    if (!subscribe) return;
    const subscription = { query: chunkSubscription, variables: { sessionId: String(sessionId) } };
    socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: subscription }));
  }

  while (open.length < count) {
    await Promise.all(Array.from({ length: Math.min(atOnce, count - open.length) }, openOne));
  }
  return {
    count: () => received,
    async received(events) {
      const { promise, resolve } = Promise.withResolvers<void>();
      wanted = { at: received + events, resolve };
      await promise;
    },
    async close() {
      await Promise.all(
        open.map(async (socket) => {
          const closed = once(socket, 'close');
          socket.close();
          await closed;
        }),
      );
    },
  };
}
