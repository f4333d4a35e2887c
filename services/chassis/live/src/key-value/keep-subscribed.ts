import { isDomainError } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import { backoff } from '@parley/kernel/timing/backoff';
import { sleep } from '@parley/kernel/timing/timers';
import type { Unsubscribe } from './key-value.ts';

/** A `KeyValue`, or its `subscribe`. */
interface Announcements {
  subscribe(channel: string, handler: (message: string) => void): Promise<() => unknown>;
}

export interface KeepSubscribedOptions {
  channel: string;
  handler(message: string): void;
  log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** The pause after the first attempt, in ms; it doubles with each further attempt, up to 5 s. Default 250. */
  firstPauseMs?: number;
}

/**
 * Subscribes to announcements that a unit can do without for a while. Resolves after the first attempt: in an outage the unit starts
 * anyway, and the subscription is retried.
 * @throws Error for an invalid channel.
 */
export async function keepSubscribed(
  from: Announcements,
  { channel, handler, log, firstPauseMs = 250 }: KeepSubscribedOptions,
): Promise<Unsubscribe> {
  const pauseAfter = backoff({ firstMs: firstPauseMs, maxMs: 5_000 });
  const unsubscribed = new AbortController();

  async function retry(): Promise<(() => unknown) | undefined> {
    for (let failures = 1; ; failures += 1) {
      await sleep(pauseAfter(failures), unsubscribed.signal, { ref: false });
      if (unsubscribed.signal.aborted) return undefined;
      try {
        const unsubscribe = await from.subscribe(channel, handler);
        log.info({ channel }, 'announcement subscription restored');
        return unsubscribe;
      } catch (error) {
        if (isDomainError(error, 'unavailable')) continue;
        log.error({ err: error, channel }, 'announcement subscription failed');
        return undefined;
      }
    }
  }

  let subscribed: Promise<(() => unknown) | undefined>;
  try {
    subscribed = Promise.resolve(await from.subscribe(channel, handler));
  } catch (error) {
    if (!isDomainError(error, 'unavailable')) throw error;
    log.warn({ err: error, channel }, 'announcement subscription failed; will retry');
    subscribed = retry();
  }
  return async () => {
    unsubscribed.abort();
    await (await subscribed)?.();
  };
}
