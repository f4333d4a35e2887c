export type ChunkWriter = ReturnType<typeof chunkWriter>;

type Write = () => Promise<void>;

/**
 * Writes the first chunk at once, because a client waits for it. Joins later chunks that are pushed in the same tick or during a write.
 * @param write must not reject
 */
export function chunkWriter(write: (text: string) => Promise<void>) {
  let text = '';
  /** Chunks that are not written yet, and other writes that have not started, in order. Consecutive chunks are joined into one string. */
  let waiting: (string | Write)[] = [];
  let writing: Promise<void> | undefined;

  async function drain(isAwaited: boolean): Promise<void> {
    if (!isAwaited) await new Promise((resolve) => setImmediate(resolve)); // this delay collects the other chunks of this tick
    while (waiting.length > 0) {
      const next = waiting;
      waiting = [];
      for (const each of next) await (typeof each === 'string' ? write(each) : each());
    }
    writing = undefined;
  }

  return {
    push(chunk: string): void {
      if (chunk === '') return;
      const isFirst = text === '';
      text += chunk;
      const last = waiting.at(-1);
      if (typeof last === 'string') waiting[waiting.length - 1] = last + chunk;
      else waiting.push(chunk);
      writing ??= drain(isFirst);
    },
    /**
     * Adds a write that is not a chunk. It runs after all earlier chunks and before all later ones.
     * @param other must not reject
     */
    pushWrite(other: Write): void {
      waiting.push(other);
      writing ??= drain(true);
    },
    async flush(): Promise<void> {
      await writing;
    },
    get text() {
      return text;
    },
  };
}
