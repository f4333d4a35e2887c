import { setTimeout as delay } from 'node:timers/promises';
import type { SecretBox } from '@parley/kernel/secrets/secret-box';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { KeyValue } from '@parley/live/key-value/key-value';
import type { ActionCredential, CustomAction, MessagingRegion } from './custom-action.ts';
import { issueToken, refusedCredential, tokenOf, unavailableCredential } from './issue-token.ts';

export interface MessagingTokensOptions {
  keyValue: KeyValue;
  /** Seals cached tokens, since they are secrets. */
  box: Pick<SecretBox, 'seal' | 'open'>;
  /** The URLs of the messaging platforms, from `MESSAGING_URL_CN` and `MESSAGING_URL_INTL`. Regions without a URL are not served. */
  urls: Partial<Record<MessagingRegion, string | undefined>>;
  log: Pick<Logger, 'warn'>;
}

export type MessagingTokens = ReturnType<typeof messagingTokens>;

type MessagingAction = Pick<CustomAction, 'id' | 'tenantId' | 'messagingRegion'>;
type MessagingApp = Extract<ActionCredential, { kind: 'MESSAGING' }>;

/** A token is replaced this long before it expires, in ms. The margin allows for slow calls and clock skew. */
const marginMs = 5 * 60_000;

const exchangeTimeoutMs = 10_000;

/** Lifetime of the lock. It is longer than an exchange may take, so that the lock expires only if its holder died. */
const lockTtlMs = exchangeTimeoutMs + 5_000;

const pollMs = 50;

/**
 * Caches tenant access tokens of messaging apps for all replicas, until five minutes before they expire. When several calls need a new
 * token, one call exchanges the app's credentials. The other calls, on all replicas, wait for its result. While the key-value store is
 * down, each process exchanges the credentials itself.
 */
export function messagingTokens({ keyValue, box, urls, log }: MessagingTokensOptions) {
  /** Token exchanges in progress in this process, by cache key. */
  const running = new Map<string, Promise<string>>();

  async function kept(key: string): Promise<string | undefined> {
    const sealed = await keyValue.get(key);
    if (sealed === undefined) return undefined;
    try {
      return box.open(Buffer.from(sealed, 'base64'), key).toString();
    } catch {
      return undefined; // the key that sealed the token is no longer in the ring
    }
  }

  async function exchange(key: string, region: MessagingRegion, app: MessagingApp): Promise<string> {
    const base = urls[region];
    if (base === undefined) throw unavailableCredential(new Error(`no messaging URL for ${region}`));
    const answer = await issueToken({
      url: `${base.replace(/\/+$/u, '')}/open-apis/auth/v3/tenant_access_token/internal`,
      body: { app_id: app.appId, app_secret: app.appSecret },
      timeoutMs: exchangeTimeoutMs,
    });
    // The platform answers with status 200 even when it refuses the credentials.
    if (answer['code'] !== undefined && answer['code'] !== 0) throw refusedCredential();
    const token = tokenOf(answer['tenant_access_token']);
    const ttlMs = Math.floor(Number(answer['expire']) * 1_000 - marginMs);
    if (ttlMs > 0 && Number.isSafeInteger(ttlMs)) await keep(key, token, ttlMs);
    return token;
  }

  async function keep(key: string, token: string, ttlMs: number): Promise<void> {
    await keyValue
      .set(key, box.seal(token, key).toString('base64'), { ttlMs })
      .catch((err: unknown) => log.warn({ err }, 'messaging token not kept'));
  }

  /**
   * Exchanges the credentials if this process gets the lock. Otherwise polls until the lock's holder has cached a token, or until the lock
   * is free.
   */
  async function shared(key: string, exchangeNow: () => Promise<string>): Promise<string> {
    const lock = `${key}:lock`;
    for (;;) {
      let isMine: boolean;
      try {
        const token = await kept(key);
        if (token !== undefined) return token;
        isMine = await keyValue.setIfAbsent(lock, '1', { ttlMs: lockTtlMs });
      } catch (err) {
        log.warn({ err }, 'messaging token exchanged without the key-value store');
        return exchangeNow();
      }
      if (!isMine) {
        await delay(pollMs);
        continue;
      }
      try {
        // Another process may have stored a token and released the lock since the last look-up.
        return (await kept(key).catch(() => undefined)) ?? (await exchangeNow());
      } finally {
        await keyValue.delete(lock).catch(() => undefined); // a lock that is not deleted expires
      }
    }
  }

  function exchanged(key: string, region: MessagingRegion, app: MessagingApp): Promise<string> {
    const already = running.get(key);
    if (already) return already;
    const started = shared(key, () => exchange(key, region, app)).finally(() => running.delete(key));
    running.set(key, started);
    return started;
  }

  return {
    /**
     * Returns a token, and whether it is from the cache. A cached token may have been revoked.
     * @throws DomainError `CREDENTIAL_REFUSED` or `CREDENTIAL_UNAVAILABLE` if the exchange fails
     * @throws the signal's reason if it aborts
     */
    async tokenFor(
      action: MessagingAction,
      app: MessagingApp,
      signal?: AbortSignal,
    ): Promise<{ token: string; isKept: boolean }> {
      const key = keyOf(action);
      const known = await kept(key).catch(() => undefined);
      if (known !== undefined) return { token: known, isKept: true };
      const issued = exchanged(key, action.messagingRegion ?? 'REGION_INTL', app);
      return { token: await until(issued, signal), isKept: false };
    },

    /** Deletes `token` from the cache, unless another token has replaced it. Without `token`, deletes whichever token is cached. */
    async drop(action: MessagingAction, token?: string): Promise<void> {
      const key = keyOf(action);
      try {
        if (token === undefined || (await kept(key)) === token) await keyValue.delete(key);
      } catch (err) {
        log.warn({ err }, 'messaging token not dropped');
      }
    },
  };
}

/** Returns the cache key. It contains only the action's id, because the app of an action never changes. */
function keyOf({ tenantId, id }: MessagingAction): string {
  return `parley:${tenantId}:action:${id}:messaging-token`;
}

async function until<Value>(work: Promise<Value>, signal?: AbortSignal): Promise<Value> {
  if (!signal) return work;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
