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
    const { status, stdout, stderr } = spawnSync('git', args, { cwd: checkout, encoding: 'utf8' });
    return { ok: status === 0, text: stdout?.trim() ?? '', problem: `git ${args[0]}: ${stderr?.trim()}` };
  };
  const ask = (...args: string[]) => {
    const { ok, text, problem } = git(...args);
    if (!ok) throw new Error(problem);
    return text;
  };
  const commitOf = (revision: string) => git('rev-parse', '--verify', '--quiet', `${revision}^{commit}`).text;

  const top = git('rev-parse', '--show-toplevel');
  if (/dubious ownership/u.test(top.problem)) throw new Error(top.problem);
  // An export that lies within another checkout is none of that one's files.
  if (!top.ok || realpathSync(top.text) !== realpathSync(checkout)) {
    return { none: 'this is no git checkout, so there is no history to compare with' };
  }
  const head = commitOf('HEAD');
  if (!head) return { none: 'nothing has been committed yet' };

  const main = commitOf('refs/remotes/origin/main') || commitOf('refs/heads/main');
  const base = main && git('merge-base', head, main).text;
  let commit = base;
  if (!base || base === head) {
    const last = ask('log', '-1', '--format=%H', '--', pathspec);
    commit = ask('status', '--porcelain', '--', pathspec) ? head : last && commitOf(`${last}^`);
  }
  if (commit && git('grep', '--quiet', '-e', '', commit, '--', pathspec).ok) return { commit };
  if (commit || ask('rev-parse', '--is-shallow-repository') === 'false') return { none: 'these are the first' };
  return { none: 'this clone is shallow; fetch more of its history (git fetch --unshallow)', lacks: true };
}
