import type { ServerResponse } from 'node:http';

/** Whether the client that sent a request is still there for its answer. */
export interface ClientPresence {
  readonly isGone: boolean;
  /** Calls `act` once the client is gone, at once if it is already. @returns what takes that back. */
  whenGone(act: () => void): () => void;
}

/** Follows the client of one response: it is gone when its connection ends before the answer has been written. */
export function clientPresence(
  response: Pick<ServerResponse, 'once' | 'destroyed' | 'writableFinished'>,
): ClientPresence {
  const acts = new Set<() => void>();
  let isGone = response.destroyed;
  response.once('close', () => {
    if (response.writableFinished) return;
    isGone = true;
    for (const act of acts) act();
  });
  return {
    get isGone() {
      return isGone;
    },
    whenGone(act) {
      if (isGone) act();
      acts.add(act);
      return () => void acts.delete(act);
    },
  };
}
