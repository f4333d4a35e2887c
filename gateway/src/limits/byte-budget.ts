import { clientCounts } from './client-counts.ts';

/** A limit on the bytes that all clients use together. One client may use a quarter of the limit. */
export interface ByteBudget {
  refusal(client: string, more: number): 'client' | 'all' | undefined;
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
