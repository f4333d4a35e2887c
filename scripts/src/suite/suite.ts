import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { runAva, runInOrder } from './ava.ts';
import type { FileOutcome } from './ava-run.ts';
import { type Check, runCheck } from './checks.ts';
import { type Engines, startEngines } from './engines.ts';
import type { Selection } from './select.ts';
import { byProcess, isDeclared } from './workspaces.ts';

export interface SuiteOptions {
  root: string;
  /** Whether the run is in CI. If so, a missing engine counts as a failure, and failed files run once more. */
  ci: boolean;
  /** When this signal aborts, the run is cancelled. */
  signal: AbortSignal;
  say(line: string): void;
  /** Starts the engines. Default: `startEngines`. */
  start?: typeof startEngines;
}

/** Returns the maximum number of files that may pass only in a second run: two, or one per forty processes in a large suite. */
function maxUnsteady(processes: number): number {
  return Math.max(2, Math.floor(processes / 40));
}
const minute = 60_000;

/** The counters of a run. */
type Totals = ReturnType<typeof newTotals>;

function newTotals(say: SuiteOptions['say']) {
  return {
    passed: 0,
    failed: 0,
    skipped: 0,
    unsteady: 0,
    /** The failures, one per line. They are repeated at the end, because long output is often kept only in part. */
    failures: [] as string[],
    fail(what: string, output: string) {
      this.failed += 1;
      this.failures.push(what);
      say(`✘ ${what}\n${indented(output)}`);
    },
  };
}

/** Runs the checks while engines start, then the tests, and prints the results. @returns true if nothing failed. */
export async function runSuite(selection: Selection, options: SuiteOptions): Promise<boolean> {
  const { say, signal, ci } = options;
  const totals = newTotals(say);
  const starting = engineStart(selection, options, totals);
  try {
    await runChecks(selection.checks, options, totals);
    const engines = await starting;
    if (selection.files.length > 0 && engines && !signal.aborted) await runTests(selection, engines, options, totals);
  } finally {
    for (const problem of (await (await starting)?.stop()) ?? []) totals.fail('meshes', problem);
  }
  if (signal.aborted) return false;

  const limit = maxUnsteady(selection.workspaces.flatMap(byProcess).length);
  if (totals.unsteady > limit) totals.fail('unsteady tests', `more than ${limit} files passed only when run again`);
  for (const failure of totals.failures) say(`✘ ${failure}`);
  if (totals.skipped > 0) say(`${totals.skipped} skipped`);
  if (ci) say(`${totals.unsteady} unsteady`);
  say(`${totals.passed} passed, ${totals.failed} failed`);
  return totals.failed === 0 && totals.passed > 0;
}

async function engineStart({ needs }: Selection, options: SuiteOptions, totals: Totals) {
  const { ci, signal, say, start = startEngines } = options;
  const begun = performance.now();
  try {
    const engines = await start({ needs, signal, say: (line) => say(`  ${line}`) });
    if (needs.length > 0) {
      say(`✔ engines (${[...needs].join(', ')}): ${seconds(performance.now() - begun)}`);
      totals.passed += 1;
    }
    for (const reason of engines.missing) {
      if (ci) totals.fail('engines', `CI has every engine, and this machine cannot have ${reason}`);
      else say(`- tests that need it are left out: ${reason}`);
    }
    return engines;
  } catch (error) {
    if (!signal.aborted) totals.fail('engines', error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

/** Runs the checks two at a time, in the order of their declaration. */
async function runChecks(checks: Check[], { root, say, signal }: SuiteOptions, totals: Totals): Promise<void> {
  const queue = checks.values();
  const worker = async () => {
    for (const check of queue) {
      if (signal.aborted) return;
      const { name, outcome, output, seconds: took } = await runCheck(root, check, signal);
      totals[outcome] += 1;
      if (outcome === 'failed') totals.failures.push(name);
      say(`${{ passed: '✔', failed: '✘', skipped: '-' }[outcome]} ${name}: ${took.toFixed(1)} s`);
      if (outcome !== 'passed') say(indented(output));
    }
  };
  await Promise.all([worker(), worker()]);
}

async function runTests(selection: Selection, { env }: Engines, options: SuiteOptions, totals: Totals): Promise<void> {
  const { workspaces, full, cluster, unchanged } = selection;
  const isLong = full || cluster;
  const processes = workspaces.flatMap(byProcess);
  const { root, say, ci, signal } = options;
  if (unchanged.length > 0) say(`- skipped as unchanged, or run by another file: ${unchanged.join(', ')}`);
  const begun = performance.now();
  // The temporary folder of all tests. It is removed at the end, with any files in it that interrupted or failing tests did not delete.
  // Servers that run as other users can access it.
  const temporary = mkdtempSync(join(tmpdir(), 'parley-test-'));
  chmodSync(temporary, 0o711);
  using folder = new DisposableStack();
  folder.defer(() => rmSync(temporary, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 }));
  const common = {
    root,
    signal,
    env: { ...env, TMPDIR: temporary, ...(full && { PARLEY_FAULTS: 'full' }) },
    timeoutMs: full ? 90 * minute : 40 * minute,
  };
  // One more than there are processors, because many files mostly wait.
  const concurrency = isLong ? 1 : availableParallelism() + 1;
  // The number of processes between two progress reports. A run has ten reports.
  const every = Math.max(1, Math.ceil(processes.length / 10));
  let done = 0;
  const onProcess = (file: string, { failed }: FileOutcome) => {
    done += 1;
    if (failed > 0) say(`✘ ${file}`);
    if (done % every === 0 || done === processes.length) say(`  ${done} of ${processes.length} test processes`);
  };
  const runAll = cluster ? runInOrder : runAva;
  const first = await runAll({ ...common, processes, concurrency, onProcess });
  const outcomes = new Map(first.outcomes);
  const failed = [...outcomes].filter(([, outcome]) => outcome.failed > 0).map(([file]) => file);
  if (failed.length > 0 || first.failed > 0) say(indented(first.report));
  if (signal.aborted) return;
  totals.failures.push(...failedTests(first.report));

  // A process that failed while others ran is run once more, alone. The output of its first run is printed above. Stories of a cluster
  // already run alone, so they are not run again.
  const mayRunAgain = (files: string[]) =>
    failed.includes(files[0] ?? '') && !files.some((file) => workspaces.some((each) => isDeclared('once', each, file)));
  for (const files of ci && !cluster && first.failed === 0 ? processes.filter(mayRunAgain) : []) {
    const [file = ''] = files;
    const second = await runAva({ ...common, processes: [files], concurrency: 1 });
    const outcome = second.outcomes.get(file);
    if (outcome && outcome.failed === 0 && second.failed === 0) {
      // ava does not report to which file of a process a failed test belongs, so every failed test may be in a different file.
      totals.unsteady += Math.min(files.length, first.outcomes.get(file)?.failed ?? 1);
      outcomes.set(file, outcome);
      say(`- ${file} failed at first, and passed when it was run again`);
      totals.failures.push(`${file} (passed when it was run again)`);
    } else say(`✘ ${file} failed again\n${indented(second.report)}`);
  }

  for (const outcome of outcomes.values()) add(totals, outcome);
  totals.failed += first.failed;
  for (const { name, files: own } of workspaces) {
    const of = own.flatMap((file) => outcomes.get(file) ?? []);
    const sum = of.reduce(add, { passed: 0, failed: 0, skipped: 0 });
    const skipped = sum.skipped > 0 ? `, ${sum.skipped} skipped` : '';
    say(`${sum.failed > 0 ? '✘' : '✔'} ${name}: ${sum.passed} passed, ${sum.failed} failed${skipped}`);
  }
  for (const line of isLong ? first.logs : []) say(line);
  say(`  tests: ${seconds(performance.now() - begun)}`);
}

/** Returns the titles of the failed tests in a report of ava. */
function failedTests(report: string): string[] {
  return [...report.matchAll(/^ *✘ (?:\[fail\]: )?(.+)$/gmu)].map(([, title = '']) => title);
}

type Counts = Pick<Totals, 'passed' | 'failed' | 'skipped'>;

function add<Sum extends Counts>(sum: Sum, { passed, failed, skipped }: Counts): Sum {
  sum.passed += passed;
  sum.failed += failed;
  sum.skipped += skipped;
  return sum;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** Indents a text and cuts very long lines, such as log entries with stack traces. */
function indented(text: string): string {
  const short = text.replaceAll(/^(.{1000}).{100,}$/gmu, '$1…');
  return short.trimEnd().replaceAll(/^/gm, '    ');
}
