export interface ClientCounts {
  of(client: string): number;
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
      else counts.delete(client); // frees the memory of idle clients
    },
  };
}
