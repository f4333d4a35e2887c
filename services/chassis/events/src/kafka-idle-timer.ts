import { createRequire } from 'node:module';

/** What the correction reads and writes of kafkajs' queue of requests, one for each connection. */
interface RequestQueue {
  pending: unknown[];
  /** Until when the broker has asked not to be sent anything, in ms since the epoch; below now when it has not. */
  throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(): void;
}

const lookAgainMs = 10;

/**
 * Keeps kafkajs 2.2.4 from re-arming a timer of 1 ms for ever on every idle connection (2,600 timers a second on Node 24):
 * it computes a negative delay where nobody is throttled, and does so even when nothing waits. Here it looks again only
 * while something waits, at the end of the throttle or in 10 ms. Upstream it is tulios/kafkajs issues 1751 and 1704,
 * unmerged; the version is pinned, since this replaces a method of a private module. Calling it again changes nothing.
 */
export function calmIdleConnections(): void {
  const queue: { prototype: RequestQueue } = createRequire(import.meta.url)('kafkajs/src/network/requestQueue');
  queue.prototype.scheduleCheckPendingRequests = scheduleCheckPendingRequests;
}

function scheduleCheckPendingRequests(this: RequestQueue): void {
  if (this.pending.length === 0 || this.throttleCheckTimeoutId) return;
  const throttledMs = this.throttledUntil - Date.now();
  this.throttleCheckTimeoutId = setTimeout(
    () => {
      this.throttleCheckTimeoutId = null;
      this.checkPendingRequests();
    },
    throttledMs > 0 ? throttledMs : lookAgainMs,
  );
}
