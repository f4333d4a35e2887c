import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { declaredChecks } from './checks.ts';

/**
 * Has Nx run the checks, and the tests of the workspaces that a change since main touches and of those that depend on them. What
 * passed on the same files before is not run again. @returns the exit code.
 */
export async function runAffected(root: string): Promise<number> {
  const checks = declaredChecks(root).map(({ name }) => name);
  const codes = [
    await nx(root, ['run-many', '--projects=parley', `--targets=${checks.join(',')}`]),
    await nx(root, ['affected', '--targets=test']),
  ];
  return Math.max(...codes);
}

async function nx(root: string, args: string[]): Promise<number> {
  const child = spawn('nx', [...args, '--outputStyle=static'], { cwd: root, stdio: 'inherit' });
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? 1;
}
