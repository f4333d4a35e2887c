import type { ServerResponse } from 'node:http';

/** Whether the client that sent a request is still there for its answer. */
export interface ClientConnection {
  readonly isClosed: boolean;
  /** Calls `act` once the client is gone, at once if it is already. @returns what takes that back. */
  onClose(act: () => void): () => void;
}

/** Follows the client of one response: it is gone when its connection ends before the answer has been written. */
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
