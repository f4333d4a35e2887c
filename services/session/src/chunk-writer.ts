/** Buffers the chunks of a reply and writes those of one tick of the event loop as one. */
export interface ChunkWriter {
  push(text: string): void;
  /** Resolves when everything pushed has been written. */
  flush(): Promise<void>;
  /** Everything pushed so far. */
  readonly text: string;
}

/** Writes one chunk at a time; what is pushed during a write is joined into the next. @param write must not reject */
export function chunkWriter(write: (text: string) => Promise<void>): ChunkWriter {
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
    push(chunk) {
      if (chunk === '') return;
      text += chunk;
      buffered += chunk;
      writing ??= drain();
    },
    async flush() {
      await writing;
    },
    get text() {
      return text;
    },
  };
}
