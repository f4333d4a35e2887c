import { spawnSync } from 'node:child_process';

/**
 * The paths that differ from what ran before: on a branch from where it left main, on main itself from a day before its last
 * commit, since a push may bring several. Undefined where git cannot tell.
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
