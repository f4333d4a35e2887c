import type { Logger } from '../telemetry/log.ts';

/** Longer than any engine takes to start beside the units. */
const longestMs = 30_000;

/**
 * The readiness of what needs an engine later than at once, such as events, which wait in the outbox. Not ready before `ping` has
 * resolved once, so that a rollout with wrong settings is held up; but ready after `atMostMs` since the first question in any case, so that
 * a unit that is restarted in an outage serves what works without the engine. It logs then why the engine was not reached. A later outage
 * leaves it ready.
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
