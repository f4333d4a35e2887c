import type { Turn } from '../transcript.ts';
import type { Store } from './own-messages.ts';

/** The turns of a session that has ended, for a reload of the tab: the server replays events of active sessions only. */
export function endedTranscript(store: Store | undefined, name: string) {
  const key = `parley-chat-ended:${name}`;
  return {
    put(turns: readonly Turn[]): void {
      try {
        store?.setItem(key, JSON.stringify(turns));
      } catch {
        // The browser's storage is full: a reload shows only that the conversation has ended.
      }
    },
    find(): Turn[] {
      try {
        return JSON.parse(store?.getItem(key) ?? '[]') as Turn[];
      } catch {
        return [];
      }
    },
  };
}
