import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GCProfiler, getHeapStatistics } from 'node:v8';
import { Connection } from 'pg';

// Loaded into a measured process by its first SIGWINCH. At each SIGWINCH, the process writes what its main thread has counted since this
// module was loaded.
const counts = {
  'SQL statements': 0,
  COMMITs: 0,
  'round trips to the database': 0,
  allocated: 0,
  'pauses of garbage collection': 0,
};

// Both database engines use this driver, so it counts all requests and responses.
const driver = Connection.prototype as Connection & Record<'query' | 'sync', (...args: unknown[]) => unknown>;
/** Connections that have sent in this iteration of the event loop; further messages go into the same packet. */
const sending = new WeakSet<Connection>();
for (const method of ['query', 'sync'] as const) {
  const send = driver[method];
  driver[method] = function (this: Connection, ...args: unknown[]) {
    if (!sending.has(this)) counts['round trips to the database'] += 1;
    sending.add(this);
    process.nextTick(() => sending.delete(this));
    return send.apply(this, args);
  };
}
const { emit } = Connection.prototype;
Connection.prototype.emit = function (this: Connection, event: string, ...args: unknown[]) {
  if (event === 'commandComplete') {
    counts['SQL statements'] += 1;
    if ((args[0] as { text: string }).text === 'COMMIT') counts.COMMITs += 1;
  }
  return emit.call(this, event, ...args);
} as typeof emit;

const usedBytes = () => getHeapStatistics().used_heap_size;
let profiler = new GCProfiler();
let usedBefore = usedBytes();
profiler.start();

/** Adds the growth of the heap between two collections, which equals the allocations. */
function collect(): void {
  const grow = (from: number, to: number) => void (counts.allocated += Math.max(0, to - from) / 1024);
  for (const { beforeGC, afterGC, cost } of profiler.stop().statistics) {
    grow(usedBefore, beforeGC.heapStatistics.usedHeapSize);
    usedBefore = afterGC.heapStatistics.usedHeapSize;
    counts['pauses of garbage collection'] += cost / 1000;
  }
  grow(usedBefore, usedBytes());
  usedBefore = usedBytes();
  profiler = new GCProfiler();
  profiler.start();
}

function report(): void {
  collect();
  const file = join(process.env.BENCH_METERS ?? '', `${process.pid}.json`);
  writeFileSync(`${file}.draft`, JSON.stringify(counts));
  renameSync(`${file}.draft`, file);
}

process.on('SIGWINCH', report);
report();
