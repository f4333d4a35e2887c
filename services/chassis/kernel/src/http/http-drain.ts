import type { Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import { Server as NetServer, type Socket } from 'node:net';

/** Keep-alive time of idle connections between units, in ms. */
export const idleConnectionMs = 2_000;

/** Linger time in ms of idle connections when a production server stops: longer than the keep-alive time of other units. */
export const productionLingerMs = 4_000;

export type HttpDrain = ReturnType<typeof httpDrain>;

/**
 * Tracks the responses of a server that does not listen yet. Node's own `close` is not enough: it lets a busy connection send more
 * requests, and would in the end abort one of them.
 */
export function httpDrain(http: Server | TlsServer) {
  const open = new Set<ServerResponse>();
  // All open sockets. `closeAllConnections` does not close those that are in their TLS handshake.
  const sockets = new Set<Socket>();
  let isDraining = false;
  let isLingering = false;
  const markLast = (response: ServerResponse) => {
    if (!response.headersSent) response.setHeader('connection', 'close');
  };

  http.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });

  http.prependListener('request', (_request, response) => {
    if (isDraining) markLast(response);
    open.add(response);
    response.once('close', () => {
      open.delete(response);
      // A response whose headers were sent before the drain has no `connection: close`, so its connection is closed here.
      if (isDraining && !isLingering) http.closeIdleConnections();
    });
  });

  return {
    /**
     * Refuses new connections and resolves when the open connections have closed. Each connection closes after its current response, which
     * has the header `connection: close`. Connections that are still open after `timeoutMs` are closed at once.
     * @param lingerMs how long idle connections stay open for one more request, which a client may be sending just now. No request is lost
     * if clients keep idle connections for a shorter time than this. Default 0.
     */
    async drain(timeoutMs: number, lingerMs = 0): Promise<void> {
      isDraining = true;
      isLingering = lingerMs > 0;
      for (const response of open) markLast(response);
      // `close` of an HTTP server would also close idle connections.
      const closed = new Promise((resolve) => NetServer.prototype.close.call(http, resolve));
      const closeIdle = () => {
        isLingering = false;
        http.closeIdleConnections();
      };
      const closeAll = () => {
        for (const socket of sockets) socket.destroy();
      };
      const timers = [setTimeout(closeAll, timeoutMs)];
      if (isLingering) timers.push(setTimeout(closeIdle, lingerMs));
      else closeIdle();
      await closed;
      for (const timer of timers) clearTimeout(timer);
    },
  };
}
