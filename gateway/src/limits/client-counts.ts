/** How much each client holds of something at the moment. */
export interface ClientCounts {
  of(client: string): number;
  /** Counts more for a client, or less. */
  add(client: string, amount: number): void;
}

export function clientCounts(): ClientCounts {
  const counts = new Map<string, number>();
  const of = (client: string) => counts.get(client) ?? 0;
  return {
    of,
    add(client, amount) {
      const now = of(client) + amount;
      if (now > 0) counts.set(client, now);
      else counts.delete(client); // so that who has left takes no memory
    },
  };
}
