import { setTimeout as delay } from 'node:timers/promises';

/** The pause between two checks. */
const pauseMs = { min: 5, max: 250 };
/** The pause as a multiple of the duration of the check, so that slow checks leave time for the work that they wait for. */
const pauseFactor = 4;
/** The pause as a share of the time waited so far, so that a long wait costs little and yet ends soon after the condition holds. */
const pauseShare = 0.05;

/**
 * Waits for a condition: calls `check` until it returns a truthy value, and returns this value. The pause between two calls is a few
 * milliseconds, or longer if `check` is slow or the wait is long. Rejects after `timeoutMs` (default 30,000, for busy machines) with an
 * error that names `what`.
 */
export async function eventually<T>(
  what: string,
  check: () => T | Promise<T>,
  { timeoutMs = 30_000 }: { timeoutMs?: number } = {},
): Promise<Exclude<T, false | null | undefined>> {
  const begun = performance.now();
  for (;;) {
    const from = performance.now();
    const answer = await check();
    if (isTruthy(answer)) return answer;
    const now = performance.now();
    if (now > begun + timeoutMs) throw new Error(`Not within ${timeoutMs} ms: ${what}`);
    const pause = Math.max(pauseMs.min, pauseFactor * (now - from), pauseShare * (now - begun));
    await delay(Math.min(pauseMs.max, pause));
  }
}

function isTruthy<T>(answer: T): answer is Exclude<T, false | null | undefined> {
  return Boolean(answer);
}
