/** Longer than any engine takes to start beside the units. */
const longestMs = 30_000;

/**
 * The readiness of what needs an engine later than at once, such as events, which wait in the outbox. Not ready before `ping` has
 * resolved once, so that a rollout with wrong settings is held up; but ready after `atMostMs` since the first question in any case, so that
 * a unit that is restarted in an outage serves what works without the engine. A later outage leaves it ready.
 */
export function untilReached(ping: () => Promise<void>, atMostMs = longestMs): () => Promise<void> {
  let isReady = false;
  let since: number | undefined;
  return async () => {
    if (isReady) return;
    since ??= performance.now();
    if (performance.now() - since < atMostMs) await ping();
    isReady = true;
  };
}
