import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { declaredChecks } from './checks.ts';

/**
 * Has Nx run the checks and the tests of the workspaces that a change since main touches, and of those that depend on them. What
 * passed on the same files before is not run again. @returns the exit code.
 */
export async function runAffected(root: string): Promise<number> {
  const targets = ['test', ...declaredChecks(root).map(({ name }) => name)];
  const child = spawn('nx', ['affected', `--targets=${targets.join(',')}`, '--outputStyle=static'], {
    cwd: root,
    stdio: 'inherit',
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? 1;
}
