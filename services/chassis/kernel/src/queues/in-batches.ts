import { type Context, context, ROOT_CONTEXT, trace } from '@opentelemetry/api';

export interface BatchLimits<Item> {
  /** The span name of a batch of several items. */
  name: string;
  /** Maximum number of concurrent batches; later items wait for the next batch. */
  atOnce: number;
  /** Maximum number of items in a batch. */
  size: number;
  /**
   * Returns the party of an item. Batches take items round robin by party, so that no party waits for all items of another. Default: one
   * party.
   */
  partyOf?: (item: Item) => string | number;
}

interface Asked<Item, Result> {
  item: Item;
  from: Context;
  resolve(result: Result | Promise<Result>): void;
  reject(error: unknown): void;
}

const tracer = trace.getTracer('parley.batches');

/**
 * Batches items that arrive while earlier batches run, so that the cost per item falls under load; a single item does not wait. An answer
 * always comes from a batch that started after its request. A batch of several items has its own trace, which is linked to the traces of
 * all its requests.
 * @param serve returns the results, or promises of them, in the order of the items; if `serve` rejects, all items of the batch reject
 */
export function inBatches<Item, Result>(
  { name, atOnce, size, partyOf = () => 0 }: BatchLimits<Item>,
  serve: (items: Item[]) => Promise<readonly (Result | Promise<Result>)[]>,
): (item: Item) => Promise<Result> {
  /** Queued items by party; the first party is served next. */
  const waiting = new Map<string | number, Queue<Asked<Item, Result>>>();
  let underWay = 0;

  function nextBatch(): Asked<Item, Result>[] {
    const batch: Asked<Item, Result>[] = [];
    // A party with further items is put back at the end, and the loop reaches it again.
    for (const [party, queue] of waiting) {
      batch.push(queue.shift());
      waiting.delete(party);
      if (queue.size > 0) waiting.set(party, queue);
      if (batch.length === size) break;
    }
    return batch;
  }

  async function serveNext(): Promise<void> {
    underWay += 1;
    while (waiting.size > 0) {
      const batch = nextBatch();
      try {
        const results = await traced(batch, () => serve(batch.map(({ item }) => item)));
        for (const [place, { resolve }] of batch.entries()) resolve(results[place] as Result);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    underWay -= 1;
  }

  function traced<T>(batch: Asked<Item, Result>[], work: () => Promise<T>): Promise<T> {
    const [first, second] = batch;
    if (first && !second) return context.with(first.from, work);
    const links = batch.flatMap(({ from }) => {
      const cause = trace.getSpanContext(from);
      return cause ? { context: cause } : [];
    });
    return context.with(ROOT_CONTEXT, () =>
      tracer.startActiveSpan(name, { links }, (span) => work().finally(() => span.end())),
    );
  }

  return (item) =>
    new Promise((resolve, reject) => {
      const party = partyOf(item);
      const queue = waiting.get(party) ?? queueOf();
      queue.push({ item, from: context.active(), resolve, reject });
      waiting.set(party, queue);
      if (underWay < atOnce) void serveNext();
    });
}

/** Batches the items of each key separately, as `inBatches` does. The limits apply per key, and no key waits for another. */
export function inBatchesOfKey<Key, Item, Result>(
  limits: BatchLimits<Item>,
  serve: (key: Key, items: Item[]) => Promise<readonly (Result | Promise<Result>)[]>,
): (key: Key, item: Item) => Promise<Result> {
  const asking = new Map<Key, { ask: (item: Item) => Promise<Result>; pending: number }>();

  return async (key, item) => {
    const ofKey = asking.get(key) ?? { ask: inBatches(limits, (items: Item[]) => serve(key, items)), pending: 0 };
    asking.set(key, ofKey);
    ofKey.pending += 1;
    try {
      return await ofKey.ask(item);
    } finally {
      ofKey.pending -= 1;
      if (ofKey.pending === 0) asking.delete(key);
    }
  };
}

type Queue<T> = ReturnType<typeof queueOf<T>>;

/** A queue with constant-time removal, because `Array.shift` takes seconds for tens of thousands of items. */
function queueOf<T>() {
  let items: T[] = [];
  let next = 0;
  return {
    get size() {
      return items.length - next;
    },
    push: (item: T) => void items.push(item),
    /** Removes the first item. Call it only if the queue is not empty. */
    shift(): T {
      const item = items[next] as T;
      next += 1;
      if (2 * next > items.length) {
        items = items.slice(next);
        next = 0;
      }
      return item;
    },
  };
}
