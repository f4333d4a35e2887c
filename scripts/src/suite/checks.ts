import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './command.ts';

/** One check of the whole checkout. */
export interface Check {
  name: string;
  /** Run by a shell in the checkout. */
  command: string;
}

/** The beginning of the output of a skipped check, followed by the reason. */
const leftOut = 'left out: ';
const timeoutMs = 300_000;

/** The checks are the targets of the root project: Nx runs them from its cache, and `scripts/test` all of them. */
export function declaredChecks(root: string): Check[] {
  const { nx }: { nx: { targets: Record<string, { command: string }> } } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  return Object.entries(nx.targets).map(([name, { command }]) => ({ name, command }));
}

/** @returns the result, and the relevant part of the output. */
export async function runCheck(root: string, { name, command }: Check, signal: AbortSignal) {
  const begun = performance.now();
  const { ok, output } = await run({ command: 'sh', args: ['-c', command], cwd: root, timeoutMs, signal });
  const seconds = (performance.now() - begun) / 1000;
  const outcome: 'passed' | 'failed' | 'skipped' = !ok ? 'failed' : output.startsWith(leftOut) ? 'skipped' : 'passed';
  return { name, outcome, output, seconds };
}

/**
 * Runs with Nx the checks, and the tests of workspaces that have changed since main and of their dependents. Results for
 * unchanged inputs come from the cache. @returns the exit code.
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
