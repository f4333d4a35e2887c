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
  signal: AbortSignal;
  /** Called as soon as a process has ended. */
  onProcess?(file: string, outcome: FileOutcome): void;
}

/** Runs test files in one ava, the slowest processes of the last run first, and stores the duration of each process. */
export async function runAva({ root, processes, env, concurrency, timeoutMs, signal, onProcess }: AvaOptions) {
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
    onMessage(message) {
      const ended = message as AvaMessage;
      if (ended.testFile === undefined) {
        elsewhere += 1;
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
    /** The results by the first file of each process. */
    outcomes,
    /** Errors outside of any file: a crash, a timeout, a missing report. */
    failed: elsewhere,
    /** The report of ava without passed tests and what they log. */
    report: ended.output.replaceAll(/^ {2}✔ .*\n( {4}ℹ .*\n)*/gmu, '').trim(),
    /** The output of `t.log`, from the report of ava. */
    logs: ended.output.match(/^ {4}ℹ .*$/gmu) ?? [],
  };
}

function remember(root: string, outcomes: Map<string, FileOutcome>): void {
  const times = [...outcomes].flatMap(([file, { seconds }]) =>
    seconds > 0 ? [[file, Math.round(seconds * 1000)]] : [],
  );
  mkdirSync(dirname(timesFile(root)), { recursive: true });
  writeFileSync(timesFile(root), JSON.stringify({ ...readTimes(root), ...Object.fromEntries(times) }, null, 1));
}
