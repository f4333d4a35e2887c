import type { Logger } from '../telemetry/log.ts';

/** Any engine that is started together with the units starts within this time in ms. */
const longestMs = 30_000;

/**
 * Readiness for an engine that the unit can do without for a while, such as the event bus, whose events wait in the outbox.
 *
 * The unit is not ready until `ping` has resolved once, so that a rollout with wrong settings stops. After `atMostMs` it is ready even
 * without the engine, so that a unit that restarts during an outage serves everything that works without the engine. The error of the last
 * `ping` is then logged. A later outage does not affect readiness.
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
