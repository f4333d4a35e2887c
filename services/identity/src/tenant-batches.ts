interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** Gathers what is asked for a tenant while its last batch is under way, so that many at once share a transaction. */
export function tenantBatches<Item, Result>(
  size: number,
  serve: (tenantId: number, items: Item[]) => Promise<Result[]>,
): (tenantId: number, item: Item) => Promise<Result> {
  const queues = new Map<number, Waiting<Item, Result>[]>();

  async function serveAll(tenantId: number, queue: Waiting<Item, Result>[]): Promise<void> {
    queues.set(tenantId, queue);
    while (queue.length > 0) {
      const batch = queue.splice(0, size);
      try {
        const results = await serve(
          tenantId,
          batch.map(({ item }) => item),
        );
        for (const [place, { resolve }] of batch.entries()) resolve(results[place] as Result);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    queues.delete(tenantId);
  }

  return (tenantId, item) =>
    new Promise((resolve, reject) => {
      const waiting = { item, resolve, reject };
      const queue = queues.get(tenantId);
      if (queue) queue.push(waiting);
      else void serveAll(tenantId, [waiting]);
    });
}
