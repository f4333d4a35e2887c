import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './command.ts';

/** One check of the whole checkout. */
export interface Check {
  name: string;
  /** The command line, for a shell in the checkout. */
  command: string;
}

/** The beginning of the output of a skipped check, followed by the reason. */
const leftOut = 'left out: ';
const timeoutMs = 300_000;

/**
 * Returns the checks, which are the targets of the root project. Nx may take their results from its cache; `scripts/test` always runs all
 * checks.
 */
export function declaredChecks(root: string): Check[] {
  const { nx }: { nx: { targets: Record<string, { command: string }> } } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  return Object.entries(nx.targets).map(([name, { command }]) => ({ name, command }));
}

/** Runs a check. @returns the result and the output. */
export async function runCheck(root: string, { name, command }: Check, signal: AbortSignal) {
  const begun = performance.now();
  const { ok, output } = await run({ command: 'sh', args: ['-c', command], cwd: root, timeoutMs, signal });
  const seconds = (performance.now() - begun) / 1000;
  const outcome: 'passed' | 'failed' | 'skipped' = !ok ? 'failed' : output.startsWith(leftOut) ? 'skipped' : 'passed';
  return { name, outcome, output, seconds };
}

/**
 * Runs the checks, and the tests of workspaces that have changed since main and of their dependents. Nx takes results for unchanged inputs
 * from its cache. @returns the exit code.
 */
export function runAffected(root: string): number {
  const nx = (...args: string[]) =>
    spawnSync('nx', [...args, '--outputStyle=static'], { cwd: root, stdio: 'inherit' }).status ?? 1;
  const checks = declaredChecks(root).map(({ name }) => name);
  return Math.max(
    nx('run-many', '--projects=parley', `--targets=${checks.join(',')}`),
    nx('affected', '--targets=test'),
  );
}
