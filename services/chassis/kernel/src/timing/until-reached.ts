import type { Logger } from '../telemetry/log.ts';

/** Longer than any engine takes to start beside the units. */
const longestMs = 30_000;

/**
 * Readiness for an engine that the unit can do without for a while, such as the event bus, whose events wait in the outbox.
 *
 * Not ready until `ping` has resolved once, so that a rollout with wrong settings stops. Ready at the latest `atMostMs` after the first
 * check, even without the engine, so that a unit that restarts during an outage serves everything that works without the engine; the reason
 * is then logged. A later outage does not affect readiness.
 */
export function untilReached(
  engine: string,
  ping: () => Promise<void>,
  log: Pick<Logger, 'warn'>,
  atMostMs = longestMs,
): () => Promise<void> {
  let isReady = false;
  let since: number | undefined;
  let reason: unknown;
  return async () => {
    if (isReady) return;
    since ??= performance.now();
    if (performance.now() - since < atMostMs) {
      await ping().catch((error: unknown) => {
        reason = error;
        throw error;
      });
    } else {
      log.warn({ err: reason, engine }, 'engine not reached; ready without it, will retry');
    }
    isReady = true;
  };
}
