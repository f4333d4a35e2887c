import { setTimeout as delay } from 'node:timers/promises';

/** Between two looks, at least and at most. */
const pauseMs = { least: 5, most: 250 };
/** So many times as long as a look took is the pause after it: what is waited for is to get on meanwhile. */
const pauseOfLook = 4;

/**
 * Waits for a condition: asks again every few milliseconds, less often where asking takes long, until `check` answers something
 * truthy, and answers that. Rejects with `what` when it has not within `timeoutMs` (30,000: on a busy machine much takes long).
 */
export async function eventually<T>(
  what: string,
  check: () => T | Promise<T>,
  { timeoutMs = 30_000 }: { timeoutMs?: number } = {},
): Promise<Exclude<T, false | null | undefined>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const from = performance.now();
    const answer = await check();
    if (isTruthy(answer)) return answer;
    if (performance.now() > deadline) throw new Error(`Not within ${timeoutMs} ms: ${what}`);
    await delay(Math.min(pauseMs.most, Math.max(pauseMs.least, pauseOfLook * (performance.now() - from))));
  }
}

function isTruthy<T>(answer: T): answer is Exclude<T, false | null | undefined> {
  return Boolean(answer);
}
