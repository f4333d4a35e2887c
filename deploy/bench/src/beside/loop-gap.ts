import type { LoopGap } from '../vectors.ts';

// Loaded into a measured process. Each message is answered with the longest time between two turns of the event loop since the last.
let last = performance.now();
let longest = 0;
function turn(): void {
  const now = performance.now();
  longest = Math.max(longest, now - last);
  last = now;
}
setInterval(turn, 1).unref();
process.on('message', () => {
  turn();
  process.send?.({ longestGapMs: longest } satisfies LoopGap);
  longest = 0;
});
