import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { type AvaMessage, type FileOutcome, readTimes, timesFile, togetherVariable } from './ava-run.ts';
import { run } from './command.ts';

export interface AvaOptions {
  root: string;
  /** The test files of each process, as paths in the checkout. The first file identifies the process. */
  processes: string[][];
  env: Record<string, string>;
  /** The number of files that run at the same time. */
  concurrency: number;
  timeoutMs: number;
  /** Whether a test's own timeout extends `timeoutMs`. Default false. */
  testsExtend?: boolean;
  signal: AbortSignal;
  /** Called with the result of each process as soon as the process has ended. */
  onProcess?(file: string, outcome: FileOutcome): void;
}

/** The time that an ava run of one file needs in addition to the deadlines of the file's stories. */
const storyMarginMs = 15 * 60_000;

/** The results of test files. */
export interface AvaResult {
  /** The results by the first file of each process. */
  outcomes: Map<string, FileOutcome>;
  /** The number of errors outside of any file: a crash, a timeout, a missing report. */
  failed: number;
  /** The report of ava without passed tests and what they log. */
  report: string;
  /** The output of `t.log`, from the report of ava. */
  logs: string[];
}

/** Runs test files in one ava, the slowest processes of the last run first, and stores the duration of each process. */
export async function runAva(options: AvaOptions): Promise<AvaResult> {
  const { root, processes, env, concurrency, timeoutMs, testsExtend = false, signal, onProcess } = options;
  const files = processes.flatMap(([first = '']) => first);
  const together = Object.fromEntries(processes.map(([first = '', ...others]) => [first, others]));
  const outcomes = new Map<string, FileOutcome>();
  let elsewhere = 0;
  const ended = await run({
    command: 'ava',
    args: [`--concurrency=${concurrency}`, ...files],
    cwd: root,
    env: { ...env, [togetherVariable]: JSON.stringify(together) },
    timeoutMs,
    signal,
    onMessage(message, extend) {
      const ended = message as AvaMessage;
      if (ended.testFile === undefined) {
        if (ended.allowedMs === undefined) elsewhere += 1;
        else if (testsExtend) extend(ended.allowedMs);
        return;
      }
      const file = relative(root, ended.testFile);
      outcomes.set(file, ended.outcome);
      onProcess?.(file, ended.outcome);
    },
  });
  // An unfinished file counts as failed, and so does a run that exits with an error although no test failed.
  for (const file of files) {
    if (!outcomes.has(file)) outcomes.set(file, { passed: 0, failed: 1, skipped: 0, seconds: 0 });
  }
  const isKnown = elsewhere > 0 || [...outcomes.values()].some(({ failed }) => failed > 0);
  if (!ended.ok && !isKnown) elsewhere = 1;
  remember(root, outcomes);
  return {
    outcomes,
    failed: elsewhere,
    report: ended.output.replaceAll(/^ {2}✔ .*\n( {4}ℹ .*\n)*/gmu, '').trim(),
    logs: ended.output.match(/^ {4}ℹ .*$/gmu) ?? [],
  };
}

/**
 * Runs the stories of a cluster one file at a time, in the order of the files' names: later stories restart the pods that earlier ones
 * inspect. Each file has its own run of ava with one process. The run's time limit includes the timeouts that the file's stories set.
 */
export async function runInOrder({ processes, ...options }: AvaOptions): Promise<AvaResult> {
  const all: AvaResult = { outcomes: new Map(), failed: 0, report: '', logs: [] };
  for (const files of processes.toSorted(([one = ''], [other = '']) => one.localeCompare(other))) {
    if (options.signal.aborted) break;
    const one = await runAva({ ...options, processes: [files], timeoutMs: storyMarginMs, testsExtend: true });
    for (const [file, outcome] of one.outcomes) all.outcomes.set(file, outcome);
    all.failed += one.failed;
    all.report += `${one.report}\n`;
    all.logs.push(...one.logs);
  }
  return all;
}

function remember(root: string, outcomes: Map<string, FileOutcome>): void {
  const times = [...outcomes].flatMap(([file, { seconds }]) =>
    seconds > 0 ? [[file, Math.round(seconds * 1000)]] : [],
  );
  mkdirSync(dirname(timesFile(root)), { recursive: true });
  writeFileSync(timesFile(root), JSON.stringify({ ...readTimes(root), ...Object.fromEntries(times) }, null, 1));
}
