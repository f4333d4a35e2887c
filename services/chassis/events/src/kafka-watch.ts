import type { Share } from './kafka-share.ts';

/**
 * Calls `onStalled` with the reason when a consumer shows no sign of life for so many ms, or is alive and makes no
 * progress: kafkajs can beat and fetch for ever without bringing what waits. Lost commits are made up for meanwhile.
 * @returns what ends the watch.
 */
export function watchConsumer(
  onSignOfLife: (listener: () => void) => void,
  share: Pick<Share, 'stuckForMs' | 'commitAgain'>,
  stalledAfterMs: number,
  onStalled: (reason: Error) => void,
): () => void {
  let aliveAt = performance.now();
  onSignOfLife(() => {
    aliveAt = performance.now();
  });
  const timer = setInterval(() => {
    if (performance.now() - aliveAt >= stalledAfterMs) {
      onStalled(new Error(`It has neither fetched nor beat for ${stalledAfterMs} ms`));
    } else if (share.stuckForMs() >= stalledAfterMs) {
      onStalled(new Error(`It has brought and committed nothing for ${stalledAfterMs} ms, although events wait`));
    } else {
      share.commitAgain();
    }
  }, stalledAfterMs / 4);
  return () => clearInterval(timer);
}
