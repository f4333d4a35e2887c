import type { ServerResponse } from 'node:http';

export interface ClientConnection {
  readonly isClosed: boolean;
  /**
   * Calls `act` when the client disconnects, or immediately if the client has disconnected before.
   * @returns a function that removes this listener
   */
  onClose(act: () => void): () => void;
}

/** Detects a client that disconnects before its response is written. */
export function clientConnection(
  response: Pick<ServerResponse, 'once' | 'destroyed' | 'writableFinished'>,
): ClientConnection {
  const acts = new Set<() => void>();
  let isClosed = response.destroyed;
  response.once('close', () => {
    if (response.writableFinished) return;
    isClosed = true;
    for (const act of acts) act();
  });
  return {
    get isClosed() {
      return isClosed;
    },
    onClose(act) {
      if (isClosed) act();
      acts.add(act);
      return () => void acts.delete(act);
    },
  };
}
