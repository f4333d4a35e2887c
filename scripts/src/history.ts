import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

type Git = ReturnType<typeof gitIn>;

/** Runs git in a checkout and returns what it prints. If git fails, `find` returns undefined and `get` throws git's error. */
function gitIn(checkout: string) {
  const env = { ...process.env, LC_ALL: 'C' };
  const get = (...args: string[]): string => {
    const { status, stdout, stderr, error } = spawnSync('git', args, { cwd: checkout, encoding: 'utf8', env });
    if (status !== 0) throw error ?? new Error(`git ${args[0]}: ${stderr.trim()}`);
    return stdout.trim();
  };
  const find = (...args: string[]): string | undefined => {
    try {
      return get(...args);
    } catch {
      return undefined;
    }
  };
  return { find, get };
}

/** Returns the commit at which the branch left main; undefined on main itself, or if git does not know it. */
function branchPoint({ find }: Git): string | undefined {
  const fork = find('merge-base', 'HEAD', 'origin/main') ?? find('merge-base', 'HEAD', 'main');
  return fork === find('rev-parse', 'HEAD') ? undefined : fork;
}

/**
 * Returns the changed paths. On a branch: since it left main. On main itself: during the day before the last commit, because a push may
 * contain several commits. Undefined if git lacks this history.
 */
export function changedPaths(checkout: string): string[] | undefined {
  const git = gitIn(checkout);
  const dayBefore = Number(git.find('show', '-s', '--format=%ct')) - 86_400;
  const base = branchPoint(git) ?? git.find('rev-list', '-1', `--before=${dayBefore}`, 'HEAD');
  if (!base) return undefined;
  const listed = [git.find('diff', '--name-only', base), git.find('ls-files', '--others', '--exclude-standard')];
  return listed.every((text) => text !== undefined) ? listed.join('\n').split('\n').filter(Boolean) : undefined;
}

/** The commit that the working tree is compared with, or why there is none. */
type Previous = { commit: string; none?: never } | { commit?: never; none: string };

type HeldStates = { commits: string[]; none?: never } | { commits?: never; none: string };

const shallow = 'this clone is shallow; fetch more of its history (git fetch --unshallow)';

/**
 * Returns the commit before the last change of the files of `pathspec`. During a rolling update, the current files must be compatible with
 * the files of that commit. On a branch, the result is the commit at which the branch left main. On main itself, it is the last commit if
 * the working tree changes these files; otherwise it is the commit before the last one that changed them.
 * @throws Error if the commit exists but is not available here, and `mustCompare` is set, as in CI
 * @throws Error if git fails or refuses the checkout
 */
export function previousState(checkout: string, pathspec: string, mustCompare = false): Previous {
  const git = gitIn(checkout);
  const lacks = (none: string) => {
    if (mustCompare) throw new Error(none);
    return { none };
  };
  if (!isCheckout(git)) {
    const none = 'git reads no git checkout here, so there is no history';
    return existsSync(join(checkout, '.git')) ? lacks(none) : { none };
  }
  if (git.find('rev-parse', '--verify', 'HEAD') === undefined) return { none: 'nothing has been committed yet' };
  let commit = branchPoint(git);
  if (!commit) {
    const last = git.get('log', '-1', '--format=%H', '--', pathspec);
    commit = git.get('status', '--porcelain', '--', pathspec) ? 'HEAD' : git.find('rev-parse', '--verify', `${last}^`);
  }
  if (commit && git.find('grep', '--quiet', '-e', '', commit, '--', pathspec) !== undefined) return { commit };
  if (commit || git.get('rev-parse', '--is-shallow-repository') === 'false') return { none: 'these are the first' };
  return lacks(shallow);
}

/** Returns the tag (`v` and a number) of the newest release at or before a commit; undefined before the first release. */
export function lastRelease(checkout: string, commit = 'HEAD'): string | undefined {
  return gitIn(checkout).find('describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', commit);
}

/**
 * Returns the commits whose files of `pathspec` may run at the same time as the current files: the last release, and the commit before the
 * last change if that commit is later than the release. Returns no commits before the first release.
 * @throws Error under the conditions of `previousState`
 */
export function heldStates(checkout: string, pathspec: string, mustCompare = false): HeldStates {
  const previous = previousState(checkout, pathspec, mustCompare);
  if (previous.none !== undefined) return { none: previous.none };
  const git = gitIn(checkout);
  const release = lastRelease(checkout);
  if (release) {
    const isLater = git.find('merge-base', '--is-ancestor', release, previous.commit) !== undefined;
    return { commits: isLater ? [release, previous.commit] : [release] };
  }
  if (git.get('rev-parse', '--is-shallow-repository') === 'false') return { commits: [] };
  if (mustCompare) throw new Error(shallow);
  return { none: shallow };
}

/**
 * Reports whether the folder is the root of a git checkout. @throws Error with git's remedy if git refuses to read the checkout because
 * another user owns it.
 */
function isCheckout({ get }: Git): boolean {
  try {
    // If the folder is an unpacked archive inside another checkout, its files do not belong to that checkout.
    return get('rev-parse', '--show-prefix') === '';
  } catch (error) {
    if (/dubious ownership/u.test(String(error))) throw error;
    return false;
  }
}
