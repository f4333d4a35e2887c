export interface BatchLimits {
  /** Batches under way at once; what is asked meanwhile waits for the next one. */
  atOnce: number;
  /** The most of one batch. */
  size: number;
}

interface Asked<Item, Result> {
  item: Item;
  resolve(result: Result | Promise<Result>): void;
  reject(error: unknown): void;
}

/**
 * Serves together what is asked while earlier batches are under way, so that each costs less the more is asked; a single one waits for
 * nothing. Whoever asks gets an answer that was begun after they asked.
 * @param serve returns the results, or promises of them, in the order of the items; where it rejects, all of its batch do
 */
export function inBatches<Item, Result>(
  { atOnce, size }: BatchLimits,
  serve: (items: Item[]) => Promise<readonly (Result | Promise<Result>)[]>,
): (item: Item) => Promise<Result> {
  const waiting: Asked<Item, Result>[] = [];
  let underWay = 0;

  async function serveNext(): Promise<void> {
    underWay += 1;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, size);
      try {
        const results = await serve(batch.map(({ item }) => item));
        for (const [place, { resolve }] of batch.entries()) resolve(results[place] as Result);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    underWay -= 1;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (underWay < atOnce) void serveNext();
    });
}
