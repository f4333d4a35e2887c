/** Items for one reader, in order, kept until they are read. */
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
    /** What was pushed before is still read. @param error thrown to the reader after that. */
    close(error?: Error): void {
      isClosed = true;
      failure = error;
      wake?.();
    },
  };
}
