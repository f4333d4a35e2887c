import type { Assignment } from './kafka-assignment.ts';

/** Longest interval in ms between two checks of a consumer. */
const longestIntervalMs = 5_000;
/** Longest time in ms that a consumer may fetch before it joins its group again. */
const longestUnjoinedMs = 20_000; // twice as long as a group waits for its members

/**
 * Calls `onStalled` with the reason when a consumer
 * - has shown no activity for `stalledAfterMs`, or
 * - is active and makes no progress: kafkajs can send heartbeats and fetch for ever without delivering events that wait, or
 * - continues to fetch after its partitions were revoked: when a broker that has just started responds to a join with "coordinator is
 * loading", kafkajs fetches with the previous assignment, and events that had not begun are not delivered again.
 *
 * Retries failed commits meanwhile.
 * @returns a function that ends the watch.
 */
export function watchConsumer(
  onActivity: (listener: () => void) => void,
  assignment: Pick<Assignment, 'noProgressForMs' | 'retryCommit' | 'revokedForMs'>,
  stalledAfterMs: number,
  onStalled: (reason: Error) => void,
): () => void {
  const unjoinedMs = Math.min(stalledAfterMs, longestUnjoinedMs);
  let activeAt = performance.now();
  onActivity(() => {
    activeAt = performance.now();
  });
  const timer = setInterval(
    () => {
      const inactiveMs = performance.now() - activeAt;
      const revokedMs = assignment.revokedForMs();
      if (inactiveMs >= stalledAfterMs) {
        onStalled(new Error(`It has neither fetched nor sent a heartbeat for ${stalledAfterMs} ms`));
      } else if (assignment.noProgressForMs() >= stalledAfterMs) {
        onStalled(
          new Error(`It has neither delivered nor committed anything for ${stalledAfterMs} ms, although events wait`),
        );
      } else if (revokedMs >= unjoinedMs && inactiveMs < revokedMs) {
        onStalled(new Error(`It has fetched for ${unjoinedMs} ms without having joined its group again`));
      } else {
        assignment.retryCommit();
      }
    },
    Math.min(stalledAfterMs / 4, longestIntervalMs),
  );
  return () => clearInterval(timer);
}
