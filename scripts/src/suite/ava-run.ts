import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from '../root.ts';

/** Where the runner keeps how long each test file of a checkout took. */
export function timesFile(checkout: string): string {
  return join(checkout, 'node_modules/.cache/parley/test-times.json');
}

/** Milliseconds that each test file took when it last ran, by its path in the checkout; empty before the first run. */
export function readTimes(checkout: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(timesFile(checkout), 'utf8'));
  } catch {
    return {};
  }
}

let times: Record<string, number> | undefined;

/** How ava orders test files. One that was never timed comes first, because it may be a long one. */
export function slowestFirst(one: string, other: string): number {
  const known = (times ??= readTimes(root));
  const timeOf = (file: string) => known[relative(root, file)] ?? Number.MAX_SAFE_INTEGER;
  return timeOf(other) - timeOf(one) || one.localeCompare(other);
}

/** What became of the tests of one file. */
export interface FileOutcome {
  passed: number;
  failed: number;
  /** Skipped, still to be written, or known to fail. */
  skipped: number;
  /** From the start of its process to its end. */
  seconds: number;
}

/** One file that has ended; without a file, something went wrong outside of any. */
export type AvaMessage = { testFile: string; outcome: FileOutcome } | { testFile?: undefined };

/** How many of a file there were so far, as ava counts them. What it counts beside these is wrong. */
type Good =
  | 'declaredTests'
  | 'selectedTests'
  | 'passedTests'
  | 'skippedTests'
  | 'todoTests'
  | 'passedKnownFailingTests';
type Counts = Record<Good | 'failedTests', number>;

/** What ava tells of a run, as far as it matters here; its own types leave some kinds out. */
type AvaEvent =
  | { type: 'stats'; stats: { byFile: Map<string, Counts> } }
  | { type: 'worker-finished' | 'worker-failed'; testFile: string; forcedExit?: boolean }
  | { type: 'internal-error'; testFile?: string };

/** Sends what became of each file, as soon as it has ended, to the process that started ava, where that listens. */
export async function observeRun({ events }: { events: AsyncIterable<{ type: string }> }): Promise<void> {
  const send = (message: AvaMessage) => process.connected && process.send?.(message);
  const begun = performance.now();
  /** Since when there has been room for another file: ava does not say when it starts one. */
  const room: number[] = [];
  const started = new Map<string, number>();
  let byFile = new Map<string, Counts>();
  for await (const event of events as AsyncIterable<AvaEvent>) {
    if (event.type === 'stats') {
      byFile = event.stats.byFile;
      for (const file of byFile.keys()) if (!started.has(file)) started.set(file, room.shift() ?? begun);
    } else if (event.type === 'internal-error') {
      if (event.testFile === undefined) send({});
    } else if (event.type === 'worker-finished' || event.type === 'worker-failed') {
      const { testFile } = event;
      room.push(performance.now());
      const seconds = (performance.now() - (started.get(testFile) ?? begun)) / 1000;
      const isCut = event.type === 'worker-failed' || event.forcedExit === true;
      send({ testFile, outcome: { ...sum(byFile.get(testFile), isCut), seconds } });
    }
  }
}

/** @param isCut whether the process had to be killed, or ended badly. */
function sum(counts: Counts | undefined, isCut: boolean): Omit<FileOutcome, 'seconds'> {
  if (!counts) return { passed: 0, failed: 1, skipped: 0 };
  const { declaredTests: _, selectedTests: __, passedTests: passed, skippedTests, todoTests, ...others } = counts;
  const { passedKnownFailingTests, failedTests, ...wrong } = others;
  const skipped = skippedTests + todoTests + passedKnownFailingTests;
  // A hook or an error may be why tests never ended: these are not added up.
  const failed = failedTests + Math.max(0, ...Object.values<number>(wrong));
  // A file that says nothing has failed too.
  return { passed, skipped, failed: Math.max(failed, isCut || passed + skipped === 0 ? 1 : 0) };
}
