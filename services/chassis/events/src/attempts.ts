import { setTimeout as delay } from 'node:timers/promises';
import { isLockTimeout } from '@parley/kernel/database-errors';
import { DomainError, unavailable } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/log';
import { attemptRuns } from './attempt-runs.ts';
import type { Envelope } from './envelope.ts';
import type { SubscribeOptions } from './event-bus.ts';
import type { Rest } from './keyed-queue.ts';

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
  /** How to pause between attempts without holding others up. */
  rest?: Rest;
  log?: Logger | undefined;
}

/** So many attempts at one event that do not heed the end of their time may be under way at once. */
const mostUnderWay = 2;

/**
 * Handles one event: resolves with nothing when its effect is committed, with the reason when it is to be given up.
 * Rejects when the consumer stopped before either.
 *
 * An attempt is told to end at its timeout and then waited for as long again: what it waits for, as a commit, may yet
 * come, and a success counts whenever it comes. What fails because something was not available is not the event's
 * fault: it is no attempt, and is tried again for as long as that lasts.
 */
export async function attemptEvent(event: Envelope, options: Attempts): Promise<GivenUp | undefined> {
  const { group, stopped, log, isAway, rest = async (until) => void (await until) } = options;
  const { maxAttempts = 5, handlerTimeoutMs = 5_000, perEventMs = 30_000 } = options;
  const { backoffMs = (attempt) => Math.min(100 * 2 ** (attempt - 1), 2_000) } = options;
  const runs = attemptRuns((signal) => options.handler(event, signal));
  let deadline = performance.now() + perEventMs;
  const leftMs = () => Math.max(0, deadline - performance.now());
  const inTimeMs = () => Math.min(handlerTimeoutMs, leftMs());

  async function isOutage(error: unknown): Promise<boolean> {
    const isOne = isUnavailable(error) || ((await isAway?.()) ?? false);
    if (isOne) deadline = performance.now() + perEventMs;
    return isOne;
  }

  async function giveUp(attempts: number, error: unknown): Promise<GivenUp | undefined> {
    await runs.settled(inTimeMs(), stopped);
    if (runs.hasSucceeded) return undefined;
    assertGoesOn();
    return { attempts, reason: reasonOf(error) };
  }

  function assertGoesOn(): void {
    if (stopped.aborted) throw unavailable(`The consumer ${group} has stopped`);
  }

  try {
    for (let attempt = 1, failures = 1; ; attempt++, failures++) {
      assertGoesOn();
      const outcome = await runs.run(inTimeMs(), inTimeMs, stopped);
      if (outcome.isHandled) return undefined;
      const { error } = outcome;
      const { id, type, topic } = event;
      const waitMs = backoffMs(failures);
      const hadOutage = await isOutage(error);
      const level = hadOutage && failures > 1 ? 'debug' : 'warn'; // an outage is told once by each event
      log?.[level]({ err: error, group, topic, type, eventId: id, attempt, hadOutage }, 'an event was not handled');
      if (runs.hasSucceeded) return undefined;
      assertGoesOn();
      if (hadOutage) attempt--;
      else if (attempt >= maxAttempts || leftMs() <= waitMs) return await giveUp(attempt, error);

      const pause = delay(waitMs, undefined, { signal: stopped }).catch(() => undefined);
      await (runs.count === 0 ? rest(pause, stopped) : pause);
      // In the database a further one would only wait for those before it, each in a connection of its own.
      while (runs.count >= mostUnderWay && !runs.hasSucceeded && !stopped.aborted) {
        await runs.settled(leftMs(), stopped);
        if (leftMs() === 0 && !(await isOutage(error))) return await giveUp(attempt, error);
      }
      if (runs.hasSucceeded) return undefined;
    }
  } finally {
    runs.end();
  }
}

/** A row that somebody else holds is none: the database is there, and what hangs is the handler. */
function isUnavailable(error: unknown): boolean {
  return error instanceof DomainError && error.kind === 'unavailable' && !isLockTimeout(error.cause);
}

/** With what is behind it: that something was not available says little to whoever reads it later. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return `${error}${cause}`.slice(0, 1_000);
}
