import type { Assignment } from './kafka-assignment.ts';

/**
 * Calls `onStalled` with the reason when a consumer has shown no activity for `stalledAfterMs`, or is active and makes no
 * progress: kafkajs can send heartbeats and fetch for ever without delivering events that wait. Retries failed commits
 * meanwhile. @returns how to end the watch.
 */
export function watchConsumer(
  onActivity: (listener: () => void) => void,
  assignment: Pick<Assignment, 'noProgressForMs' | 'retryCommit'>,
  stalledAfterMs: number,
  onStalled: (reason: Error) => void,
): () => void {
  let activeAt = performance.now();
  onActivity(() => {
    activeAt = performance.now();
  });
  const timer = setInterval(() => {
    if (performance.now() - activeAt >= stalledAfterMs) {
      onStalled(new Error(`It has neither fetched nor sent a heartbeat for ${stalledAfterMs} ms`));
    } else if (assignment.noProgressForMs() >= stalledAfterMs) {
      onStalled(
        new Error(`It has neither delivered nor committed anything for ${stalledAfterMs} ms, although events wait`),
      );
    } else {
      assignment.retryCommit();
    }
  }, stalledAfterMs / 4);
  return () => clearInterval(timer);
}
