import { clientCounts } from './client-counts.ts';

/** A limit on bytes in use by all clients, of which one client may use a quarter. */
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
