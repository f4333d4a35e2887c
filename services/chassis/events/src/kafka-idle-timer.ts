import { createRequire } from 'node:module';

/** The parts of kafkajs' request queue that the patch uses; each connection has one. */
interface RequestQueue {
  pending: unknown[];
  /** The end of the broker's throttling, in ms since the epoch; a past time when the broker does not throttle. */
  throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(): void;
}

const recheckMs = 10;

/**
 * Keeps kafkajs 2.2.4 from re-arming a timer of 1 ms for ever on every idle connection (2,600 timers a second on Node 24). kafkajs computes
 * a negative delay when the broker does not throttle, even if no request waits. The patch sets the timer only while requests wait, for the
 * end of the throttling or 10 ms. Upstream: tulios/kafkajs issues 1751 and 1704, unmerged. The version is pinned, because the patch
 * replaces a method of a private module. Idempotent.
 */
export function patchIdleTimer(): void {
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
    throttledMs > 0 ? throttledMs : recheckMs,
  );
}
