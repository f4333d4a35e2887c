import { setTimeout as delay } from 'node:timers/promises';
import type { SecretBox } from '@parley/kernel/secrets/secret-box';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { KeyValue } from '@parley/live/key-value/key-value';
import type { ActionCredential, CustomAction, MessagingRegion } from './custom-action.ts';
import { issueToken, refusedCredential, tokenOf, unavailableCredential } from './issue-token.ts';

export interface MessagingTokensOptions {
  keyValue: KeyValue;
  /** Seals what is kept, because the token is a secret. */
  box: Pick<SecretBox, 'seal' | 'open'>;
  /** `MESSAGING_URL_CN` and `MESSAGING_URL_INTL`; a region without one has no tokens. */
  urls: Partial<Record<MessagingRegion, string | undefined>>;
  log: Pick<Logger, 'warn'>;
}

export type MessagingTokens = ReturnType<typeof messagingTokens>;

type MessagingAction = Pick<CustomAction, 'id' | 'tenantId' | 'messagingRegion'>;
type MessagingApp = Extract<ActionCredential, { kind: 'MESSAGING' }>;

/** A token is no longer used so long before it ends, for calls that take their time and clocks that differ. */
const marginMs = 5 * 60_000;

const exchangeTimeoutMs = 10_000;

/** Longer than an exchange takes, so that its holder alone releases it, unless that has died. */
const lockTtlMs = exchangeTimeoutMs + 5_000;

const pollMs = 50;

/**
 * Tenant access tokens of messaging apps, kept for all replicas until five minutes before they end. Of all calls that need a new one
 * at once, over all replicas, one exchanges the app's credentials; the others wait for its result. While the key-value store is down,
 * each process exchanges for itself.
 */
export function messagingTokens({ keyValue, box, urls, log }: MessagingTokensOptions) {
  /** Exchanges that calls of this process wait for. */
  const running = new Map<string, Promise<string>>();

  async function kept(key: string): Promise<string | undefined> {
    const sealed = await keyValue.get(key);
    if (sealed === undefined) return undefined;
    try {
      return box.open(Buffer.from(sealed, 'base64'), key).toString();
    } catch {
      return undefined; // under a key that has left the ring
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
    // It answers 200 also where it refuses.
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

  /** Whoever gets the lock exchanges; the others look for the result until they get it themselves. */
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
        // Another one may have released the lock after this one looked.
        return (await kept(key).catch(() => undefined)) ?? (await exchangeNow());
      } finally {
        await keyValue.delete(lock).catch(() => undefined); // it ends by itself
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
     * The token to call with, and whether it may have been revoked since it was issued.
     * @throws DomainError `CREDENTIAL_REFUSED`, `CREDENTIAL_UNAVAILABLE`; the signal's reason
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

    /** Forgets the token, unless there is another one by now. Without a token: whichever is kept. */
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

/** An action's app never changes, so neither does what is kept under its id. */
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
