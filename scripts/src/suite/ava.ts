import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { type AvaEvent, readTimes, timesFile } from './ava-run.ts';
import { run } from './command.ts';

/** What became of the tests of one file. */
export interface FileOutcome {
  passed: number;
  failed: number;
  /** Skipped or still to be written. */
  skipped: number;
  /** From the start of its process to its end. */
  seconds: number;
  /** What tests said with `t.log`. */
  logs: string[];
}

export interface AvaOutcome {
  /** By the path of the file in the checkout. */
  files: Map<string, FileOutcome>;
  /** What went wrong outside any file: a crash, a time-out, a report that never came. */
  failed: number;
  /** ava's own report without what passed. */
  report: string;
}

export interface AvaOptions {
  root: string;
  /** Paths in the checkout. */
  files: string[];
  env: Record<string, string>;
  /** How many files at the same time. */
  concurrency: number;
  timeoutMs: number;
  /** Told as soon as a file has ended. */
  onFile(file: string, outcome: FileOutcome): void;
}

/** Runs test files by one ava, those that took longest the last time first, and remembers how long each took. */
export async function runAva({ root, files, env, concurrency, timeoutMs, onFile }: AvaOptions): Promise<AvaOutcome> {
  const outcomes = new Map<string, FileOutcome>();
  /** Since when there has been room for another file: ava does not say when it starts one. */
  const room = Array.from({ length: concurrency }, () => performance.now());
  const started = new Map<string, number>();
  const finished = new Set<string>();
  let elsewhere = 0;

  function of(testFile: string): FileOutcome {
    const file = relative(root, testFile);
    const outcome = outcomes.get(file) ?? { passed: 0, failed: 0, skipped: 0, seconds: 0, logs: [] };
    outcomes.set(file, outcome);
    return outcome;
  }

  function take(event: AvaEvent): void {
    if (event.type === 'timeout') {
      for (const [file, tests] of event.pendingTests) of(file).failed += tests.size;
      return;
    }
    if (event.testFile === undefined) {
      if (event.type === 'internal-error' || event.type === 'worker-failed') elsewhere += 1;
      return;
    }
    const outcome = of(event.testFile);
    if (!started.has(event.testFile)) started.set(event.testFile, room.shift() ?? performance.now());
    switch (event.type) {
      case 'selected-test':
        if (event.skip || event.todo) outcome.skipped += 1;
        break;
      case 'test-passed':
        // One that is known to fail and does counts neither way.
        if (event.knownFailing) outcome.skipped += 1;
        else outcome.passed += 1;
        outcome.logs.push(...(event.logs ?? []));
        break;
      case 'test-failed':
      case 'hook-failed':
      case 'uncaught-exception':
      case 'unhandled-rejection':
      case 'internal-error':
        outcome.failed += 1;
        break;
      case 'process-exit':
      case 'worker-failed':
        atLeastOne(outcome); // mostly the end of what has been counted
        break;
      case 'worker-finished':
        // Something that hung, maybe in a hook, when all tests had passed.
        if (event.forcedExit) atLeastOne(outcome);
        room.push(performance.now());
        finished.add(event.testFile);
        outcome.seconds = (performance.now() - (started.get(event.testFile) ?? performance.now())) / 1000;
        onFile(relative(root, event.testFile), outcome);
        break;
      default: // what is not counted
    }
  }

  const ended = await run({
    command: 'ava',
    args: [`--concurrency=${concurrency}`, ...files],
    cwd: root,
    env,
    timeoutMs,
    onMessage: (message) => take(message as AvaEvent),
  });
  // A file that says nothing, or that did not come to its end, has failed, and so has a run that ends badly though no test did.
  for (const file of files) {
    const outcome = of(join(root, file));
    const isSilent = outcome.passed + outcome.failed + outcome.skipped === 0;
    if (isSilent || !finished.has(join(root, file))) atLeastOne(outcome);
  }
  const isKnown = elsewhere > 0 || [...outcomes.values()].some(({ failed }) => failed > 0);
  if (!ended.ok && !isKnown) elsewhere = 1;
  remember(root, outcomes);
  return { files: outcomes, failed: elsewhere, report: withoutPassed(ended.output) };
}

function remember(root: string, outcomes: Map<string, FileOutcome>): void {
  const times = [...outcomes].flatMap(([file, { seconds }]) =>
    seconds > 0 ? [[file, Math.round(seconds * 1000)]] : [],
  );
  mkdirSync(dirname(timesFile(root)), { recursive: true });
  writeFileSync(timesFile(root), JSON.stringify({ ...readTimes(root), ...Object.fromEntries(times) }, null, 1));
}

function atLeastOne(outcome: FileOutcome): void {
  outcome.failed = Math.max(1, outcome.failed);
}

/** A report without the tests that passed: what a developer reads when one did not. */
function withoutPassed(report: string): string {
  let isPassed = false;
  return report
    .split('\n')
    .filter((line) => {
      // What a test said by `t.log` stands below its title.
      if (!/^ {4}ℹ /u.test(line)) isPassed = /^ {2}✔ /u.test(line);
      return !isPassed;
    })
    .join('\n')
    .trim();
}
