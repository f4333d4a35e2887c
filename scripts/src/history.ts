import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

type Git = ReturnType<typeof gitIn>;

/** Runs git in a checkout and returns what it prints. Where it fails, `find` returns undefined and `get` throws git's reason. */
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

/** The commit at which the branch left main; undefined on main itself, or if git cannot tell. */
function branchPoint({ find }: Git): string | undefined {
  const fork = find('merge-base', 'HEAD', 'origin/main') ?? find('merge-base', 'HEAD', 'main');
  return fork === find('rev-parse', 'HEAD') ? undefined : fork;
}

/**
 * The changed paths: on a branch since it left main, on main itself since a day before its last commit, because a push may
 * contain several. Undefined if git has no such history.
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
 * The version before the last change of the files of `pathspec`, with which they must be compatible during a rolling update:
 * on a branch where it left main; on main itself the last commit if the files differ from it, else the commit before the last
 * that touched them.
 * @throws Error if `mustCompare`, as in CI, and there is one that is not available here; or if git fails or refuses the checkout.
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

/** The tag of the newest release, `v` and a number, at a commit or before it. Undefined before the first release. */
export function lastRelease(checkout: string, commit = 'HEAD'): string | undefined {
  return gitIn(checkout).find('describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', commit);
}

/**
 * The commits whose files of `pathspec` may run beside those that are here: the last release, and the state before the last change
 * if that came after it. None before the first release. @throws Error as `previousState`
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

/** @throws Error with git's remedy if the checkout belongs to another user, which git refuses to read. */
function isCheckout({ get }: Git): boolean {
  try {
    // The files of an export inside another checkout do not belong to that checkout.
    return get('rev-parse', '--show-prefix') === '';
  } catch (error) {
    if (/dubious ownership/u.test(String(error))) throw error;
    return false;
  }
}
