/** How much each client holds of something at the moment. */
export interface ClientCounts {
  countOf(client: string): number;
  /** Counts for a client. @returns what takes that back. */
  enter(client: string, amount?: number): () => void;
}

export function clientCounts(): ClientCounts {
  const counts = new Map<string, number>();
  return {
    countOf: (client) => counts.get(client) ?? 0,
    enter(client, amount = 1) {
      counts.set(client, (counts.get(client) ?? 0) + amount);
      return () => {
        const left = (counts.get(client) ?? 0) - amount;
        if (left > 0) counts.set(client, left);
        else counts.delete(client);
      };
    },
  };
}
