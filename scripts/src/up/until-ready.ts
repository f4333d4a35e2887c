import { whileUnavailable } from '@parley/kernel/timing/while-unavailable';

/** On a busy machine the first call of a unit may take longer than the caller's timeout. */
const longestMs = 60_000;
const askAgainMs = 200;

/** Resolves once `ready` does. @throws its error: at once, or after `atMostMs` where it is that a unit is not available */
export async function untilReady(ready: () => Promise<void>, atMostMs = longestMs): Promise<void> {
  const end = performance.now() + atMostMs;
  await whileUnavailable(ready, askAgainMs, () => performance.now() < end);
}
