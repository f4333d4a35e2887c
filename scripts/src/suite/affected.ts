import { spawnSync } from 'node:child_process';
import { declaredChecks } from './checks.ts';

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
