export type ChunkWriter = ReturnType<typeof chunkWriter>;

/** Joins the chunks of one tick of the event loop, and those pushed during a write. @param write must not reject */
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
    async flush(): Promise<void> {
      await writing;
    },
    get text() {
      return text;
    },
  };
}
