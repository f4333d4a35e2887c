import { spawnSync } from 'node:child_process';
import { realpathSync } from 'node:fs';

/** The commit that the working tree is compared with, or why there is none. `lacks`: it exists, but is not available here. */
export type PreviousState = { commit: string } | { none: string; lacks?: boolean };

/**
 * The version before the last change of the files of `pathspec`, with which they must be compatible during a rolling update.
 *
 * On a branch that is its merge base with main. On main itself it is the last commit if the files differ from it, else
 * the commit before the last that touched them.
 * @throws Error if git fails.
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
  // The files of an export inside another checkout do not belong to that checkout.
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
