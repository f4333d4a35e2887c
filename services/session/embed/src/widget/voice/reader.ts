import { asParleyError, type ParleyError } from '../../parley-error.ts';
import { play } from './play.ts';
import { spokenPieces } from './spoken-text.ts';
import type { VoiceApi } from './voice-api.ts';

export interface ReaderOptions {
  api: Pick<VoiceApi, 'speech'>;
  /** Called when the state of a text has changed. */
  onChange: () => void;
  onError: (error: ParleyError) => void;
}

export type Reader = ReturnType<typeof reader>;

/** Reads texts aloud, one at a time. Each text has a key. */
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
    /** Returns the state of the text with this key; undefined if it is not being read. */
    stateOf(key: string): 'loading' | 'playing' | undefined {
      if (reading?.key !== key) return undefined;
      return reading.isPlaying ? 'playing' : 'loading';
    },
    /** Starts reading a text, or stops it if it is being read. Call it in a click handler. */
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
      stopping.abort(); // cancels pending requests
      if (reading !== mine) return;
      reading = undefined;
      onChange();
    },
  };
}
