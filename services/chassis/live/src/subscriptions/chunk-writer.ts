export type ChunkWriter = ReturnType<typeof chunkWriter>;

type Write = () => Promise<void>;

/**
 * Writes the first chunk at once, because a client waits for it. Later chunks of the same tick, and those pushed during a write,
 * are joined.
 * @param write must not reject
 */
export function chunkWriter(write: (text: string) => Promise<void>) {
  let text = '';
  /** What is not written yet, in order. Consecutive chunks are joined into one string. */
  let waiting: (string | Write)[] = [];
  let writing: Promise<void> | undefined;

  async function drain(isAwaited: boolean): Promise<void> {
    if (!isAwaited) await new Promise((resolve) => setImmediate(resolve)); // waits for the other chunks of this tick
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
     * Adds another write, which runs after all earlier chunks and before all later ones.
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
