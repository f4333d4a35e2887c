export type ChunkWriter = ReturnType<typeof chunkWriter>;

/**
 * Buffers the chunks of a reply and writes those of one tick of the event loop as one. Writes one chunk at a time; what is pushed
 * during a write is joined into the next. @param write must not reject
 */
export function chunkWriter(write: (text: string) => Promise<void>) {
  let text = '';
  let buffered = '';
  let writing: Promise<void> | undefined;

  async function drain(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve)); // the other chunks of this tick
    while (buffered !== '') {
      const chunk = buffered;
      buffered = '';
      await write(chunk);
    }
    writing = undefined;
  }

  return {
    push(chunk: string): void {
      if (chunk === '') return;
      text += chunk;
      buffered += chunk;
      writing ??= drain();
    },
    /** Resolves when everything pushed has been written. */
    async flush(): Promise<void> {
      await writing;
    },
    /** Everything pushed so far. */
    get text() {
      return text;
    },
  };
}
