import type { Store } from './own-messages.ts';

export interface StoredToken {
  token: string;
  /** How long it is valid from now on. */
  expiresInMs: number;
}

/**
 * The refreshed token of a session, which a reload of the tab goes on with. It counts only for the token that the page gives: another one there is
 * newer.
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
        // The browser's storage is full: a reload refreshes the given token instead.
      }
    },
  };
}
