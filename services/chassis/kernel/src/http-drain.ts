import type { Server, ServerResponse } from 'node:http';

/** Ends a server without cutting those who are being served. */
export interface HttpDrain {
  /**
   * Takes no more connections, and resolves when the open ones have ended: each with the answer that it waits for, which says
   * that it is the last one. What is left after `timeoutMs` is cut.
   */
  drain(timeoutMs: number): Promise<void>;
}

/**
 * Watches over the answers of a server that does not listen yet. Node's own `close` leaves a connection that is busy at that
 * moment open for more requests, so that a client that keeps it busy would be cut in the midst of one in the end.
 */
export function httpDrain(http: Server): HttpDrain {
  const open = new Set<ServerResponse>();
  let isDraining = false;
  const isLast = (response: ServerResponse) => {
    if (!response.headersSent) response.setHeader('connection', 'close');
  };

  http.prependListener('request', (_request, response) => {
    if (isDraining) isLast(response);
    open.add(response);
    response.once('close', () => {
      open.delete(response);
      // Of one whose headers had gone when the end began, the connection is idle now and nobody else would close it.
      if (isDraining) http.closeIdleConnections();
    });
  });

  return {
    async drain(timeoutMs) {
      isDraining = true;
      for (const response of open) isLast(response);
      const closed = new Promise((resolve) => http.close(resolve)); // closes idle connections too
      const cut = setTimeout(() => http.closeAllConnections(), timeoutMs);
      await closed;
      clearTimeout(cut);
    },
  };
}
