import { setTimeout as delay } from 'node:timers/promises';
import { isDomainError } from '../errors.ts';

/** Repeats `work` after a pause while it rejects with `unavailable` and `mayRepeat` allows it; any other error is thrown. */
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
