import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from '../root.ts';

/** Returns the path of the file in which the runner stores the duration of each test file of a checkout. */
export function timesFile(checkout: string): string {
  return join(checkout, 'node_modules/.cache/parley/test-times.json');
}

/**
 * The environment variable that maps the first test file of each process to the process's other files, as JSON with paths in the checkout.
 */
export const togetherVariable = 'PARLEY_TESTS_TOGETHER';

/** Returns the duration of each test file's last run in ms, by its path in the checkout; empty before the first run. */
export function readTimes(checkout: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(timesFile(checkout), 'utf8'));
  } catch {
    return {};
  }
}

let times: Record<string, number> | undefined;

/** Compares test files for ava, slowest first. A file without a recorded duration comes first, because its run may be long. */
export function slowestFirst(one: string, other: string): number {
  const known = (times ??= readTimes(root));
  const timeOf = (file: string) => known[relative(root, file)] ?? Number.MAX_SAFE_INTEGER;
  return timeOf(other) - timeOf(one) || one.localeCompare(other);
}

/** The results of one test file. */
export interface FileOutcome {
  passed: number;
  failed: number;
  /** The number of tests that are skipped, `todo` or expected to fail. */
  skipped: number;
  /** The time from the start of the file's process to its end. */
  seconds: number;
}

/**
 * A message about the run: the result of one file, or, without `testFile`, an error outside of all files. With `allowedMs`, the message
 * means that a test has just set its own timeout.
 */
export type AvaMessage =
  | { testFile: string; outcome: FileOutcome }
  | { testFile?: undefined; allowedMs?: undefined }
  | { testFile?: undefined; allowedMs: number };

/** ava's counters for a file. All counters that `sum` does not destructure count failures. */
type Counted = 'declared' | 'selected' | 'passed' | 'skipped' | 'todo' | 'passedKnownFailing' | 'failed' | 'remaining';
type Counts = Record<`${Counted}Tests`, number>;

/** The events of ava that are used here. ava's own types lack some of them. */
type AvaEvent =
  | { type: 'stats'; stats: { byFile: Map<string, Counts> } }
  | { type: 'worker-finished' | 'worker-failed'; testFile: string; forcedExit?: boolean }
  | { type: 'test-timeout-configured'; period: number }
  | { type: 'internal-error'; testFile?: string };

/** Sends the result of each file to the parent process as soon as the file has ended, if there is an IPC channel. */
export async function observeRun({ events }: { events: AsyncIterable<{ type: string }> }): Promise<void> {
  const send = (message: AvaMessage) => process.connected && process.send?.(message);
  const begun = performance.now();
  /**
   * The times at which a file ended and another one could start. They serve as start times, because ava does not report when it starts a
   * file.
   */
  const room: number[] = [];
  const started = new Map<string, number>();
  let byFile = new Map<string, Counts>();
  for await (const event of events as AsyncIterable<AvaEvent>) {
    if (event.type === 'stats') {
      byFile = event.stats.byFile;
      for (const file of byFile.keys()) if (!started.has(file)) started.set(file, room.shift() ?? begun);
    } else if (event.type === 'test-timeout-configured') {
      send({ allowedMs: event.period });
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

/** Returns the results of a file. @param isCut whether the process was killed, or ended with an error. */
function sum(counts: Counts | undefined, isCut: boolean): Omit<FileOutcome, 'seconds'> {
  if (!counts) return { passed: 0, failed: 1, skipped: 0 };
  const { declaredTests: _, selectedTests: __, passedTests: passed, skippedTests, todoTests, ...others } = counts;
  const { passedKnownFailingTests, failedTests, remainingTests, ...wrong } = others;
  const skipped = skippedTests + todoTests + passedKnownFailingTests;
  // Unfinished tests count as failed only if there was no failed hook or error: one of these may have prevented all unfinished tests.
  const failed = failedTests + (Math.max(0, ...Object.values<number>(wrong)) || remainingTests);
  // A file without any result has failed, too.
  return { passed, skipped, failed: Math.max(failed, isCut || passed + skipped === 0 ? 1 : 0) };
}
