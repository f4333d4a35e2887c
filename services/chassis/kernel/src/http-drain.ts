import type { Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';

export type HttpDrain = ReturnType<typeof httpDrain>;

/**
 * Tracks the responses of a server that does not listen yet. Needed because Node's own `close` leaves a busy connection open for
 * more requests, one of which would be aborted in the end.
 */
export function httpDrain(http: Server | TlsServer) {
  const open = new Set<ServerResponse>();
  let isDraining = false;
  const markLast = (response: ServerResponse) => {
    if (!response.headersSent) response.setHeader('connection', 'close');
  };

  http.prependListener('request', (_request, response) => {
    if (isDraining) markLast(response);
    open.add(response);
    response.once('close', () => {
      open.delete(response);
      // A response whose headers were sent before the drain had no `connection: close`.
      if (isDraining) http.closeIdleConnections();
    });
  });

  return {
    /**
     * Refuses new connections and resolves when the open ones have closed: each after its current response, which carries
     * `connection: close`. Connections left after `timeoutMs` are closed at once.
     */
    async drain(timeoutMs: number): Promise<void> {
      isDraining = true;
      for (const response of open) markLast(response);
      const closed = new Promise((resolve) => http.close(resolve)); // closes idle connections too
      const timer = setTimeout(() => http.closeAllConnections(), timeoutMs);
      await closed;
      clearTimeout(timer);
    },
  };
}
