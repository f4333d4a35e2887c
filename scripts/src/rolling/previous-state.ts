import { spawnSync } from 'node:child_process';
import { realpathSync } from 'node:fs';

/** The commit that the working tree is compared with, or why there is none; `lacks` where there is one, out of reach. */
export type PreviousState = { commit: string } | { none: string; lacks?: boolean };

/**
 * What ran before the files of `pathspec` became what they are: they have to get on with it during a rolling change.
 *
 * On a branch that is where it left main. On main itself it is the last commit when the files differ from it, else
 * the commit before the last that touched them.
 * @throws when git is there and does not do its work.
 */
export function previousState(checkout: string, pathspec: string): PreviousState {
  const git = (...args: string[]) => {
    const { error, status, stdout, stderr } = spawnSync('git', args, { cwd: checkout, encoding: 'utf8' });
    return { ok: !error && status === 0, text: stdout?.trim() ?? '', problem: error?.message ?? stderr.trim() };
  };
  const ask = (...args: string[]) => {
    const { ok, text, problem } = git(...args);
    if (!ok) throw new Error(`git ${args[0]}: ${problem}`);
    return text;
  };
  const commitOf = (revision: string) => git('rev-parse', '--verify', '--quiet', `${revision}^{commit}`).text;

  const top = git('rev-parse', '--show-toplevel');
  // An export that lies within another checkout is none of that one's files.
  if (!top.ok && /dubious ownership/u.test(top.problem)) throw new Error(`git rev-parse: ${top.problem}`);
  if (!top.ok || realpathSync(top.text) !== realpathSync(checkout)) {
    return { none: 'this is no git checkout, so there is no history to compare with' };
  }
  const head = commitOf('HEAD');
  if (!head) return { none: 'nothing has been committed yet' };

  const commit = beforeBranch() || beforeLastChange();
  if (commit) {
    return holds(commit) ? { commit } : { none: 'these are the first' };
  }
  return ask('rev-parse', '--is-shallow-repository') === 'true'
    ? { none: 'this clone is shallow; fetch more of its history (git fetch --unshallow)', lacks: true }
    : { none: 'these are the first' };

  function beforeBranch(): string {
    const main = commitOf('refs/remotes/origin/main') || commitOf('refs/heads/main');
    const base = main && git('merge-base', head, main).text;
    return base === head ? '' : base;
  }

  function beforeLastChange(): string {
    if (ask('status', '--porcelain', '--', pathspec)) return head;
    const last = ask('log', '-1', '--format=%H', '--', pathspec);
    return last && commitOf(`${last}^`);
  }

  function holds(revision: string): boolean {
    return git('grep', '--quiet', '-e', '', revision, '--', pathspec).ok;
  }
}
