import { setTimeout as delay } from 'node:timers/promises';
import { isDomainError } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/log';
import type { Unsubscribe } from './key-value.ts';

/** Where announcements come from: a `KeyValue`, or what has as much of it. */
interface Announcements {
  subscribe(channel: string, handler: (message: string) => void): Promise<() => unknown>;
}

export interface KeepSubscribedOptions {
  channel: string;
  handler(message: string): void;
  log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** The first pause between two tries, in ms; each is twice the last, up to 5 s. Default 250. */
  firstPauseMs?: number;
}

const longestPauseMs = 5_000;

/**
 * Subscribes to announcements that a unit can do without for a while. Resolves after the first try: where the engine is away,
 * the unit starts all the same, and listens as soon as the engine is there.
 * @throws what is wrong with the channel itself.
 */
export async function keepSubscribed(
  from: Announcements,
  { channel, handler, log, firstPauseMs = 250 }: KeepSubscribedOptions,
): Promise<Unsubscribe> {
  const leaving = new AbortController();

  async function tryAgain(): Promise<(() => unknown) | undefined> {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      await delay(pauseMs, undefined, { signal: leaving.signal, ref: false }).catch(() => undefined);
      if (leaving.signal.aborted) return undefined;
      try {
        const unsubscribe = await from.subscribe(channel, handler);
        log.info({ channel }, 'announcements are heard again');
        return unsubscribe;
      } catch (error) {
        if (isDomainError(error, 'unavailable')) continue;
        log.error({ err: error, channel }, 'announcements cannot be heard');
        return undefined;
      }
    }
  }

  let subscribed: Promise<(() => unknown) | undefined>;
  try {
    subscribed = Promise.resolve(await from.subscribe(channel, handler));
  } catch (error) {
    if (!isDomainError(error, 'unavailable')) throw error;
    log.warn({ err: error, channel }, 'announcements are not heard yet; trying again');
    subscribed = tryAgain();
  }
  return async () => {
    leaving.abort();
    await (await subscribed)?.();
  };
}
