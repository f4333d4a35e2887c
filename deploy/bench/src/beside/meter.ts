import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GCProfiler, getHeapStatistics } from 'node:v8';
import { Connection } from 'pg';

// This module is loaded into a measured process when the process receives its first SIGWINCH. At each SIGWINCH, it writes what it has
// counted in the main thread since it was loaded.
const counts = {
  'SQL statements': 0,
  COMMITs: 0,
  'round trips to the database': 0,
  allocated: 0,
  'pauses of garbage collection': 0,
};

// The clients of both database engines use the driver pg, so a wrapper around its connections counts all requests and responses.
const driver = Connection.prototype as Connection & Record<'query' | 'sync', (...args: unknown[]) => unknown>;
/**
 * Connections that have already sent a message in this iteration of the event loop. Their further messages in the iteration go into the
 * same packet and are not counted.
 */
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

/** Adds the growth of the heap between garbage collections. The sum of all such growths is the allocated memory. */
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
