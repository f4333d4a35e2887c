export function clientCounts() {
  const counts = new Map<string, number>();
  const of = (client: string) => counts.get(client) ?? 0;
  return {
    of,
    add(client: string, amount: number): void {
      const now = of(client) + amount;
      if (now > 0) counts.set(client, now);
      else counts.delete(client); // frees the memory of idle clients
    },
  };
}
