import { whileUnavailable } from '@parley/kernel/timing/while-unavailable';

/** The default time limit. It is long, because on a busy machine the first call of a unit may take longer than the caller's timeout. */
const longestMs = 60_000;
const askAgainMs = 200;

/**
 * Resolves once `ready` resolves. Retries for up to `atMostMs` while a unit is unavailable.
 * @throws the last error of `ready` if a unit is still unavailable after `atMostMs`
 * @throws any error of `ready` other than `unavailable`, immediately
 */
export async function untilReady(ready: () => Promise<void>, atMostMs = longestMs): Promise<void> {
  const end = performance.now() + atMostMs;
  await whileUnavailable(ready, askAgainMs, () => performance.now() < end);
}
