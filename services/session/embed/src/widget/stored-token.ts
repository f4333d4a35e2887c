import type { Store } from './own-messages.ts';

export interface StoredToken {
  token: string;
  /** Remaining lifetime of the token, in ms. */
  expiresInMs: number;
}

/**
 * Stores a session's refreshed token, so that a reload of the tab can use it. After the reload, the page's initial token must be the one
 * that was refreshed; a different initial token is newer than the stored one.
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
