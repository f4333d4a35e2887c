/**
 * The readiness of what needs an engine later than at once, such as events, which wait in the outbox: not ready before `ping` has resolved
 * once, so that wrong settings are noticed before the unit serves. A later outage leaves it ready.
 */
export function untilReached(ping: () => Promise<void>): () => Promise<void> {
  let wasReached = false;
  return async () => {
    if (wasReached) return;
    await ping();
    wasReached = true;
  };
}
