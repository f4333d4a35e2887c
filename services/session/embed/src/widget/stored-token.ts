import type { Store } from './own-messages.ts';

export interface StoredToken {
  token: string;
  /** Remaining lifetime. */
  expiresInMs: number;
}

/**
 * Stores the refreshed token of a session for a reload of the tab. The stored token is used only if the page still has
 * the same initial token; a different initial token is newer.
 */
export function storedToken(store: Store | undefined, name: string, given: string, now: () => number = Date.now) {
  const key = `parley-chat-token:${name}`;
  return {
    find(): StoredToken | undefined {
      try {
        const kept = JSON.parse(store?.getItem(key) ?? 'null') as {
          given: string;
          token: string;
          expiresAt: number;
        } | null;
        if (kept?.given !== given || typeof kept.token !== 'string') return undefined;
        return { token: kept.token, expiresInMs: Math.max(0, kept.expiresAt - now()) };
      } catch {
        return undefined;
      }
    },
    put(token: string, expiresInMs: number): void {
      try {
        store?.setItem(key, JSON.stringify({ given, token, expiresAt: now() + expiresInMs }));
      } catch {
        // The browser's storage is full. A reload will refresh the initial token instead.
      }
    },
  };
}
