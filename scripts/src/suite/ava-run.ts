import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from '../root.ts';

/** The file in which the runner stores the duration of each test file of a checkout. */
export function timesFile(checkout: string): string {
  return join(checkout, 'node_modules/.cache/parley/test-times.json');
}

/** The variable with the other test files of a process by its first one, as JSON: paths in the checkout. */
export const togetherVariable = 'PARLEY_TESTS_TOGETHER';

/** Duration of each test file's last run in ms, by its path in the checkout; empty before the first run. */
export function readTimes(checkout: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(timesFile(checkout), 'utf8'));
  } catch {
    return {};
  }
}

let times: Record<string, number> | undefined;

/** How ava orders test files. A file without a recorded duration comes first, because it may be long. */
export function slowestFirst(one: string, other: string): number {
  const known = (times ??= readTimes(root));
  const timeOf = (file: string) => known[relative(root, file)] ?? Number.MAX_SAFE_INTEGER;
  return timeOf(other) - timeOf(one) || one.localeCompare(other);
}

/** The results of one test file. */
export interface FileOutcome {
  passed: number;
  failed: number;
  /** Skipped, `todo`, or known to fail. */
  skipped: number;
  /** From the start of its process to its end. */
  seconds: number;
}

/** The result of one file; without a file, an error outside of any. */
export type AvaMessage = { testFile: string; outcome: FileOutcome } | { testFile?: undefined };

/** The counters of ava for a file. All that is not destructured in `sum` counts failures. */
type Counted = 'declared' | 'selected' | 'passed' | 'skipped' | 'todo' | 'passedKnownFailing' | 'failed' | 'remaining';
type Counts = Record<`${Counted}Tests`, number>;

/** The events of ava that are used here. Its own types lack some of them. */
type AvaEvent =
  | { type: 'stats'; stats: { byFile: Map<string, Counts> } }
  | { type: 'worker-finished' | 'worker-failed'; testFile: string; forcedExit?: boolean }
  | { type: 'internal-error'; testFile?: string };

/** Sends the result of each file, as soon as it has ended, to the parent process, if that listens. */
export async function observeRun({ events }: { events: AsyncIterable<{ type: string }> }): Promise<void> {
  const send = (message: AvaMessage) => process.connected && process.send?.(message);
  const begun = performance.now();
  /** The times at which a slot became free, because ava does not report when it starts a file. */
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

/** @param isCut whether the process was killed, or ended with an error. */
function sum(counts: Counts | undefined, isCut: boolean): Omit<FileOutcome, 'seconds'> {
  if (!counts) return { passed: 0, failed: 1, skipped: 0 };
  const { declaredTests: _, selectedTests: __, passedTests: passed, skippedTests, todoTests, ...others } = counts;
  const { passedKnownFailingTests, failedTests, remainingTests, ...wrong } = others;
  const skipped = skippedTests + todoTests + passedKnownFailingTests;
  // Unfinished tests count as failed if there is no other explanation: a failed hook or an error may have prevented all of them.
  const failed = failedTests + (Math.max(0, ...Object.values<number>(wrong)) || remainingTests);
  // A file without any result has failed, too.
  return { passed, skipped, failed: Math.max(failed, isCut || passed + skipped === 0 ? 1 : 0) };
}
