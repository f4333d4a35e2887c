import { isLockTimeout } from '@parley/kernel/database-errors';
import { DomainError, unavailable } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import { backoff } from '@parley/kernel/timing/backoff';
import { sleep } from '@parley/kernel/timing/timers';
import { attemptRuns } from './attempt-runs.ts';
import type { Envelope } from './envelope.ts';
import type { SubscribeOptions } from './event-bus.ts';
import type { Pause } from './keyed-queue.ts';

/**
 * The pauses between the attempts at an event, and the time limit of all attempts together. Tests shorten them; production keeps the
 * defaults.
 */
export interface AttemptTimes {
  /** The pause after the given attempt (1, 2, …), in ms. Default: 100 ms, doubled each time, at most 2 s. */
  backoffMs?: (attempt: number) => number;
  /** Maximum time in ms of all attempts at one event together. During this time the other events with the same key wait. Default 30,000. */
  perEventMs?: number;
}

/** Why an event goes to the dead letters. */
export interface HandlingFailure {
  attempts: number;
  reason: string;
}

interface Attempts
  extends Pick<SubscribeOptions, 'group' | 'handler' | 'maxAttempts' | 'handlerTimeoutMs' | 'isUnavailable'>,
    AttemptTimes {
  /** Aborts when the consumer stops: a running attempt may end, but no further attempt begins. */
  stopSignal: AbortSignal;
  /**
   * Waits for the end of the pause between two attempts, and frees the event's concurrency slot meanwhile. Default: waits without freeing
   * the slot.
   */
  pause?: Pause;
  log?: Logger | undefined;
}

/** How many attempts at one event may be unsettled at once, when handlers ignore their abort signal. */
const maxUnsettled = 2;

/**
 * Handles one event. Resolves with undefined when the event's effect is committed, and with the failure when the event must go to the dead
 * letters. Rejects if the consumer stops before the outcome is known.
 *
 * An attempt is aborted at its timeout. The consumer then waits for the same time again, because a commit may be in flight; a late success
 * counts. An attempt that fails because of an outage is not counted; the event is retried for as long as the outage lasts.
 */
export async function attemptEvent(event: Envelope, options: Attempts): Promise<HandlingFailure | undefined> {
  const { group, stopSignal, log, isUnavailable, pause = async (until) => void (await until) } = options;
  const { maxAttempts = 5, handlerTimeoutMs = 5_000, perEventMs = 30_000 } = options;
  const { backoffMs = backoff({ firstMs: 100, maxMs: 2_000 }) } = options;
  const runs = attemptRuns((signal) => options.handler(event, signal));
  let deadline = performance.now() + perEventMs;
  const remainingMs = () => Math.max(0, deadline - performance.now());
  const attemptMs = () => Math.min(handlerTimeoutMs, remainingMs());

  async function isOutage(error: unknown): Promise<boolean> {
    const outage = isUnavailableError(error) || ((await isUnavailable?.()) ?? false);
    if (outage) deadline = performance.now() + perEventMs;
    return outage;
  }

  async function fail(attempts: number, error: unknown): Promise<HandlingFailure | undefined> {
    await runs.settled(attemptMs(), stopSignal);
    if (runs.hasSucceeded) return undefined;
    assertNotStopped();
    return { attempts, reason: reasonOf(error) };
  }

  function assertNotStopped(): void {
    if (stopSignal.aborted) throw unavailable(`The consumer ${group} has stopped`);
  }

  try {
    for (let attempt = 1, failures = 1; ; attempt++, failures++) {
      assertNotStopped();
      const outcome = await runs.run(attemptMs(), attemptMs, stopSignal);
      if (outcome.isHandled) return undefined;
      const { error } = outcome;
      const { id, type, topic } = event;
      const waitMs = backoffMs(failures);
      const hadOutage = await isOutage(error);
      const level = hadOutage && failures > 1 ? 'debug' : 'warn'; // one warning per event and outage
      log?.[level]({ err: error, group, topic, type, eventId: id, attempt, hadOutage }, 'event handling failed');
      if (runs.hasSucceeded) return undefined;
      assertNotStopped();
      if (hadOutage) attempt--;
      else if (attempt >= maxAttempts || remainingMs() <= waitMs) return await fail(attempt, error);

      const waited = sleep(waitMs, stopSignal);
      await (runs.count === 0 ? pause(waited, stopSignal) : waited);
      // Another attempt would only hold one more connection and wait for the rows that the earlier attempts have locked.
      while (runs.count >= maxUnsettled && !runs.hasSucceeded && !stopSignal.aborted) {
        await runs.settled(remainingMs(), stopSignal);
        if (remainingMs() === 0 && !(await isOutage(error))) return await fail(attempt, error);
      }
      if (runs.hasSucceeded) return undefined;
    }
  } finally {
    runs.end();
  }
}

/** A lock timeout is not an outage: the database responds, but another transaction has locked the row. */
function isUnavailableError(error: unknown): boolean {
  return error instanceof DomainError && error.kind === 'unavailable' && !isLockTimeout(error.cause);
}

/** Includes the cause, because "not available" alone does not explain a dead letter. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return `${error}${cause}`.slice(0, 1_000);
}
