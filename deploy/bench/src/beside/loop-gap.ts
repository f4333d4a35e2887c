import type { LoopGap } from '../vectors.ts';

// This module is loaded into a measured process. It replies to each message from the bench with the longest time between two iterations of
// the event loop since the previous message.
let last = performance.now();
let lastCpu = process.threadCpuUsage();
let longest: LoopGap = { gapMs: 0, busyMs: 0 };
function measure(): void {
  const now = performance.now();
  const used = process.threadCpuUsage(lastCpu);
  const busyMs = (used.user + used.system) / 1_000;
  longest = { gapMs: Math.max(longest.gapMs, now - last), busyMs: Math.max(longest.busyMs, busyMs) };
  last = now;
  lastCpu = process.threadCpuUsage();
}
setInterval(measure, 1).unref();
process.on('message', () => {
  measure();
  process.send?.(longest);
  longest = { gapMs: 0, busyMs: 0 };
});
