import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Runs git in a checkout and returns what it prints; undefined where it fails. */
function gitIn(checkout: string) {
  return (...args: string[]): string | undefined => {
    const { status, stdout } = spawnSync('git', args, { cwd: checkout, encoding: 'utf8' });
    return status === 0 ? stdout.trim() : undefined;
  };
}

/** Where the branch left main; undefined on main itself, and where git cannot tell. */
function branchPoint(git: ReturnType<typeof gitIn>): string | undefined {
  const fork = git('merge-base', 'HEAD', 'origin/main') ?? git('merge-base', 'HEAD', 'main');
  return fork === git('rev-parse', 'HEAD') ? undefined : fork;
}

/**
 * The changed paths: on a branch since it left main, on main itself since a day before its last commit, because a push may
 * contain several. Undefined if git has no such history.
 */
export function changedPaths(checkout: string): string[] | undefined {
  const git = gitIn(checkout);
  const dayBefore = Number(git('show', '-s', '--format=%ct')) - 86_400;
  const base = branchPoint(git) ?? git('rev-list', '-1', `--before=${dayBefore}`, 'HEAD');
  if (!base) return undefined;
  const listed = [git('diff', '--name-only', base), git('ls-files', '--others', '--exclude-standard')];
  return listed.every((text) => text !== undefined) ? listed.join('\n').split('\n').filter(Boolean) : undefined;
}

/** The commit that the working tree is compared with, or why there is none. */
type Previous = { commit: string; none?: never } | { commit?: never; none: string };

/**
 * The version before the last change of the files of `pathspec`, with which they must be compatible during a rolling update:
 * on a branch where it left main; on main itself the last commit if the files differ from it, else the commit before the last
 * that touched them.
 * @throws Error if `mustCompare`, as in CI, and there is one that is not available here.
 */
export function previousState(checkout: string, pathspec: string, mustCompare = false): Previous {
  const git = gitIn(checkout);
  const lacks = (none: string) => {
    if (mustCompare) throw new Error(none);
    return { none };
  };
  // The files of an export inside another checkout do not belong to that checkout.
  if (git('rev-parse', '--show-prefix') !== '') {
    const none = 'git reads no git checkout here, so there is no history';
    return existsSync(join(checkout, '.git')) ? lacks(none) : { none };
  }
  let commit = branchPoint(git);
  if (!commit) {
    const last = git('log', '-1', '--format=%H', '--', pathspec);
    commit = git('status', '--porcelain', '--', pathspec) ? 'HEAD' : git('rev-parse', '--verify', `${last}^`);
  }
  if (commit && git('grep', '--quiet', '-e', '', commit, '--', pathspec) !== undefined) return { commit };
  if (commit || git('rev-parse', '--is-shallow-repository') === 'false') return { none: 'these are the first' };
  return lacks('this clone is shallow; fetch more of its history (git fetch --unshallow)');
}
