export type ChunkWriter = ReturnType<typeof chunkWriter>;

/**
 * Writes the first chunk at once, since somebody waits for it, and joins those of one tick of the event loop after it, and those pushed
 * during a write. @param write must not reject
 */
export function chunkWriter(write: (text: string) => Promise<void>) {
  let text = '';
  let buffered = '';
  let writing: Promise<void> | undefined;

  async function drain(isFirst: boolean): Promise<void> {
    if (!isFirst) await new Promise((resolve) => setImmediate(resolve)); // the other chunks of this tick
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
      const isFirst = text === '';
      text += chunk;
      buffered += chunk;
      writing ??= drain(isFirst);
    },
    async flush(): Promise<void> {
      await writing;
    },
    get text() {
      return text;
    },
  };
}
