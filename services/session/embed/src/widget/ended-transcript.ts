import type { Turn } from '../transcript.ts';
import type { Store } from './own-messages.ts';

/** Stores the turns of an ended session for a reload of the tab, because the server replays only active sessions. */
export function endedTranscript(store: Store | undefined, name: string) {
  const key = `parley-chat-ended:${name}`;
  return {
    put(turns: readonly Turn[]): void {
      try {
        store?.setItem(key, JSON.stringify(turns));
      } catch {
        // The browser's storage is full. A reload will only show that the conversation has ended.
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
