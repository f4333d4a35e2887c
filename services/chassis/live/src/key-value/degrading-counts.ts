import { type DomainError, isDomainError } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { CountAnswer, CountEntry, KeyValue } from './key-value.ts';
import { memoryKeyValue } from './memory-key-value.ts';

export interface DegradingCountsOptions {
  keyValue: Pick<KeyValue, 'countAll'>;
  /** Called for each call that this process counts by itself or refuses. */
  onDegraded: () => void;
  log: Logger;
  now?: () => number;
}

const logIntervalMs = 30_000;

/**
 * Makes a `countAll` for throttles. The counts are shared by all processes; while the engine cannot be reached, each process counts by
 * itself.
 * @returns a function. Its argument `refuse` is called before this process counts entries by itself; it may throw an error to refuse the
 * call.
 */
export function degradingCounts({
  keyValue,
  onDegraded,
  log,
  now = () => performance.now(),
}: DegradingCountsOptions): (entries: CountEntry[], refuse?: (error: DomainError) => void) => Promise<CountAnswer> {
  const localCounts = memoryKeyValue({ now });
  let loggedAt = Number.NEGATIVE_INFINITY;

  return async (entries, refuse) => {
    try {
      return await keyValue.countAll(entries);
    } catch (error) {
      if (!isDomainError(error, 'unavailable')) throw error;
      onDegraded();
      if (now() - loggedAt >= logIntervalMs) {
        loggedAt = now();
        log.warn({ err: error }, 'throttle counts unavailable; counting per process');
      }
      refuse?.(error);
      return localCounts.countAll(entries);
    }
  };
}
