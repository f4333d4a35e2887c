import { setTimeout as delay } from 'node:timers/promises';
import { isDomainError } from '../errors.ts';

/**
 * Repeats `work` after a pause for as long as it rejects with `unavailable` and `mayRepeat` returns true. Rejects with any other error, and
 * with the last `unavailable`.
 */
export async function whileUnavailable<T>(
  work: () => Promise<T>,
  pauseMs: number,
  mayRepeat: () => boolean,
): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isDomainError(error, 'unavailable') || !mayRepeat()) throw error;
    }
    await delay(pauseMs);
  }
}
