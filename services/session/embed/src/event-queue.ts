/** Creates a queue of items for one reader. */
export function eventQueue<Item>(onReturn: () => void) {
  const items: Item[] = [];
  let isClosed = false;
  let failure: Error | undefined;
  let wake: (() => void) | undefined;

  async function* read(): AsyncGenerator<Item, void> {
    try {
      for (;;) {
        while (items.length > 0) yield items.shift() as Item;
        if (failure) throw failure;
        if (isClosed) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      onReturn();
    }
  }

  return {
    items: read(),
    push(item: Item): void {
      items.push(item);
      wake?.();
    },
    /** Ends the queue. Items that are already in it can still be read. @param error thrown to the reader after the last item */
    close(error?: Error): void {
      isClosed = true;
      failure = error;
      wake?.();
    },
  };
}
