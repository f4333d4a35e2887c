import { spawnSync } from 'node:child_process';
import { declaredChecks } from './checks.ts';

/**
 * Has Nx run the checks, and the tests of the workspaces that a change since main touches and of those that depend on them. What
 * passed on the same files before is not run again. @returns the exit code.
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
