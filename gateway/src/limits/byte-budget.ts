import { clientCounts } from './client-counts.ts';

/** What has no room: a client has its share already, or everybody together has all. */
export type Exhausted = 'client' | 'all';

/** Bytes that all clients hold together, each of them a quarter at most. */
export interface ByteBudget {
  /** Why a client may not hold so much more; undefined where it may. */
  refusal(client: string, more: number): Exhausted | undefined;
  /** Counts more for a client, or less. */
  add(client: string, bytes: number): void;
}

export function byteBudget(maxBytes: number): ByteBudget {
  const clients = clientCounts();
  let held = 0;
  return {
    refusal(client, more) {
      if (clients.of(client) + more > maxBytes / 4) return 'client';
      return held + more > maxBytes ? 'all' : undefined;
    },
    add(client, bytes) {
      held += bytes;
      clients.add(client, bytes);
    },
  };
}
