import { setTimeout as delay } from 'node:timers/promises';
import { unavailable } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Envelope } from './envelope.ts';
import type { SubscribeOptions } from './event-bus.ts';

/** How a bus deals with failing handlers. Tests shorten these times; production keeps the defaults. */
export interface AttemptTimes {
  /** The wait after the given attempt (1, 2, …). Default: 100 ms, doubled each time, at most 2 s. */
  backoffMs?: (attempt: number) => number;
  /** What all attempts at one event may take together. Default 30,000: no key is held up for longer. */
  perEventMs?: number;
}

/** An event that no attempt could handle. */
export interface GivenUp {
  attempts: number;
  reason: string;
}

interface Attempts
  extends Pick<SubscribeOptions, 'group' | 'handler' | 'maxAttempts' | 'handlerTimeoutMs' | 'isAway'>,
    AttemptTimes {
  /** Aborts when the consumer stops: a running attempt may end, no other begins. */
  stopped: AbortSignal;
  log?: Logger | undefined;
}

/**
 * Handles one event: resolves with nothing when its effect is committed, with the reason when it is to be given up.
 * Rejects when the consumer stopped before either.
 */
export async function attemptEvent(event: Envelope, options: Attempts): Promise<GivenUp | undefined> {
  const { group, handler, stopped, log, isAway, maxAttempts = 5, handlerTimeoutMs = 5_000 } = options;
  const { backoffMs = (attempt) => Math.min(100 * 2 ** (attempt - 1), 2_000), perEventMs = 30_000 } = options;
  let deadline = performance.now() + perEventMs;
  const leftMs = () => deadline - performance.now();

  for (let attempt = 1, failures = 1; ; attempt++, failures++) {
    if (stopped.aborted) throw consumerStopped(group);
    const waitMs = backoffMs(failures);
    try {
      await cutAfter(Math.min(handlerTimeoutMs, leftMs()), (signal) => handler(event, signal));
      return undefined;
    } catch (error) {
      const { id, type, topic } = event;
      log?.warn({ err: error, group, topic, type, eventId: id, attempt }, 'an event was not handled');
      const away = (await isAway?.()) ?? false;
      if (stopped.aborted) throw consumerStopped(group);
      if (away) {
        attempt--;
        deadline = performance.now() + perEventMs;
      } else if (attempt >= maxAttempts || leftMs() <= waitMs) {
        return { attempts: attempt, reason: reasonOf(error) };
      }
    }
    await delay(waitMs, undefined, { signal: stopped }).catch(() => undefined); // the loop's head sees why it ended
  }
}

function consumerStopped(group: string): Error {
  return unavailable(`The consumer ${group} has stopped`);
}

/** Rejects at the end of the time whether or not the work heeds its signal. */
async function cutAfter(ms: number, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const controller = new AbortController();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new Error(`The handler took longer than ${Math.round(ms)} ms`);
    late.reject(error); // first, so that this reason wins over the one with which the work answers the abort
    controller.abort(error);
  }, ms);
  try {
    await Promise.race([work(controller.signal), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** With what is behind it: that something was not available says little to whoever reads it later. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return `${error}${cause}`.slice(0, 1_000);
}
