import { spawnSync } from 'node:child_process';

/**
 * The paths that differ from what ran before: on a branch from where it left main, on main itself from a day before its last
 * commit, since a push may bring several. Undefined where there is no history to tell.
 */
export function changedPaths(checkout: string): string[] | undefined {
  const git = (...args: string[]) => {
    const { status, stdout } = spawnSync('git', args, { cwd: checkout, encoding: 'utf8' });
    return status === 0 ? stdout.trim() : '';
  };
  const head = git('rev-parse', 'HEAD');
  const main =
    git('rev-parse', '--verify', '--quiet', 'origin/main') || git('rev-parse', '--verify', '--quiet', 'main');
  const fork = main && git('merge-base', head, main);
  const dayBefore = () =>
    git('rev-list', '-1', `--before=${Number(git('show', '-s', '--format=%ct', head)) - 86_400}`, head);
  const base = fork && fork !== head ? fork : dayBefore();
  if (!base) return undefined;
  const listed = [git('diff', '--name-only', base), git('ls-files', '--others', '--exclude-standard')];
  return listed.flatMap((text) => text.split('\n').filter(Boolean));
}
