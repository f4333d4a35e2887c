import { setTimeout as delay } from 'node:timers/promises';
import { isDomainError } from '@parley/kernel/errors';
import { backoff } from '@parley/kernel/timing/backoff';

const pauseAfter = backoff({ firstMs: 100, maxMs: 5_000 });
const retries = 17;

/**
 * Repeats `publish` with pauses, for about a minute, while the event log is unavailable. Rejects with the last error if the outage is
 * longer, and with any other error at once.
 */
export async function retryWhileUnavailable(publish: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await delay(pauseAfter(attempt), undefined, { ref: false });
    try {
      await publish();
      return;
    } catch (error) {
      if (attempt === retries || !isDomainError(error, 'unavailable')) throw error;
    }
  }
}
