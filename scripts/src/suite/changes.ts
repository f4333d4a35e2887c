import { spawnSync } from 'node:child_process';

/**
 * The changed paths: on a branch since its merge base with main, on main itself since a day before its last commit, because
 * a push may contain several. Undefined if git has no such history.
 */
export function changedPaths(checkout: string): string[] | undefined {
  const git = (...args: string[]) => {
    const { status, stdout } = spawnSync('git', args, { cwd: checkout, encoding: 'utf8' });
    return status === 0 ? stdout.trim() : undefined;
  };
  const fork = git('merge-base', 'HEAD', 'origin/main') ?? git('merge-base', 'HEAD', 'main');
  const lastCommit = Number(git('show', '-s', '--format=%ct'));
  const isOnMain = fork === undefined || fork === git('rev-parse', 'HEAD');
  const base = isOnMain ? git('rev-list', '-1', `--before=${lastCommit - 86_400}`, 'HEAD') : fork;
  if (!base) return undefined;
  const listed = [git('diff', '--name-only', base), git('ls-files', '--others', '--exclude-standard')];
  return listed.every((text) => text !== undefined) ? listed.join('\n').split('\n').filter(Boolean) : undefined;
}
