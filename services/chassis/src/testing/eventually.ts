import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits for a condition: asks again every few milliseconds until `check` answers something truthy, and answers that.
 * Rejects with `what` when it has not within `timeoutMs` (30,000: on a busy machine much takes long).
 */
export async function eventually<T>(
  what: string,
  check: () => T | Promise<T>,
  { timeoutMs = 30_000 }: { timeoutMs?: number } = {},
): Promise<Exclude<T, false | null | undefined>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await check();
    if (isTruthy(answer)) return answer;
    if (performance.now() > deadline) throw new Error(`Not within ${timeoutMs} ms: ${what}`);
    await delay(5);
  }
}

function isTruthy<T>(answer: T): answer is Exclude<T, false | null | undefined> {
  return Boolean(answer);
}
