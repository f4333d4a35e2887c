/** Gathers the pieces of a reply and hands them on, what came in one tick together. */
export interface ChunkWriter {
  push(text: string): void;
  /** Resolves when everything pushed has been handed on. */
  flush(): Promise<void>;
  /** All that was pushed. */
  readonly text: string;
}

/**
 * `write` gets one piece after another, each when the one before is through: pieces that arrive meanwhile are joined. It must
 * not reject.
 */
export function chunkWriter(write: (text: string) => Promise<void>): ChunkWriter {
  let text = '';
  let waiting = '';
  let writing: Promise<void> | undefined;

  async function drain(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve)); // the rest of this tick's pieces
    while (waiting !== '') {
      const piece = waiting;
      waiting = '';
      await write(piece);
    }
    writing = undefined;
  }

  return {
    push(piece) {
      if (piece === '') return;
      text += piece;
      waiting += piece;
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
