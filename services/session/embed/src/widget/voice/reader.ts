import { asParleyError, type ParleyError } from '../../parley-error.ts';
import { play } from './play.ts';
import { spokenPieces } from './spoken-text.ts';
import type { VoiceApi } from './voice-api.ts';

export interface ReaderOptions {
  api: Pick<VoiceApi, 'speech'>;
  /** The state of some text has changed. */
  onChange: () => void;
  onError: (error: ParleyError) => void;
}

export type Reader = ReturnType<typeof reader>;

/** Reads one text at a time aloud. Texts are known by a key. */
export function reader({ api, onChange, onError }: ReaderOptions) {
  let reading: { key: string; isPlaying: boolean; stopping: AbortController } | undefined;

  function stop(): void {
    if (!reading) return;
    reading.stopping.abort();
    reading = undefined;
    onChange();
  }

  async function* speechOf(text: string, signal: AbortSignal) {
    for (const piece of spokenPieces(text)) yield* api.speech(piece, signal);
  }

  return {
    stop,
    /** `undefined` while the text is not read. */
    stateOf(key: string): 'loading' | 'playing' | undefined {
      if (reading?.key !== key) return undefined;
      return reading.isPlaying ? 'playing' : 'loading';
    },
    /** Begins to read a text, or stops where it is just read. Call it in the handler of a click. */
    async toggle(key: string, text: string): Promise<void> {
      const isRead = reading?.key === key;
      stop();
      if (isRead) return;
      const stopping = new AbortController();
      const mine = { key, isPlaying: false, stopping };
      reading = mine;
      onChange();
      try {
        await play(speechOf(text, stopping.signal), stopping.signal, () => {
          mine.isPlaying = true;
          onChange();
        });
      } catch (error) {
        if (!stopping.signal.aborted) onError(asParleyError(error));
      }
      stopping.abort(); // what is still requested
      if (reading !== mine) return;
      reading = undefined;
      onChange();
    },
  };
}
