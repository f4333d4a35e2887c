import { changedPaths } from '../history.ts';
import { declaredChecks } from './checks.ts';
import { isDeclared, isUnchanged, needs, testedWorkspaces, type Workspace } from './workspaces.ts';

/** The selection of checks and tests for one run. */
export type Selection = ReturnType<typeof select>;

export interface SelectOptions {
  /** Names of checks and workspaces. Empty: all. */
  only: string[];
  /** Substrings of the paths of test files; if any is given, no check runs. */
  texts: string[];
  /** Whether only fault tests run. */
  faults: boolean;
  /** Whether only the stories of the cluster run. If false, they do not run. Default false. */
  cluster?: boolean;
}

/** The protections that stories of a cluster can remove; the stories must then fail. */
export const breaks = ['policy', 'pdb', 'prestop'] as const;

/** Returns the reason why `--break` cannot be used with these options; undefined if it can. */
export function wrongBreak(word: string, { cluster }: { cluster: boolean }): string | undefined {
  if (!breaks.some((each) => each === word)) return `--break ${word}: unknown; known are ${breaks.join(', ')}`;
  return cluster ? undefined : '--break is an option of --cluster';
}

export function select(root: string, { only, texts, faults, cluster = false }: SelectOptions) {
  const isChosen = (name: string) => only.length === 0 || only.includes(name);
  const checks = texts.length > 0 || faults || cluster ? [] : declaredChecks(root).filter(({ name }) => isChosen(name));
  // A file that is named explicitly always runs.
  const isAsked = faults || cluster || texts.length > 0;
  const changed = isAsked ? undefined : changedPaths(root);
  const unchanged: string[] = [];
  const isWanted = (workspace: Workspace, file: string) => {
    if (cluster !== isDeclared('cluster', workspace, file)) return false;
    if (faults && !isDeclared('faults', workspace, file)) return false;
    if (isAsked) return texts.length === 0 || texts.some((text) => file.includes(text));
    if (!isUnchanged(workspace, file, changed)) return true;
    unchanged.push(file);
    return false;
  };
  const workspaces = testedWorkspaces(root)
    .filter(({ name }) => isChosen(name))
    .map((workspace) => ({ ...workspace, files: workspace.files.filter((file) => isWanted(workspace, file)) }))
    .filter(({ files }) => files.length > 0);
  const asked = new Set(workspaces.flatMap((each) => each.needs));
  return {
    checks,
    /** The selected test files, by their path in the checkout. */
    files: workspaces.flatMap(({ files }) => files),
    /** The workspaces of the selected test files. */
    workspaces,
    /** The engines and meshes that the selected tests need. Fault tests start their own meshes. */
    needs: needs.filter((need) => asked.has(need) && !(faults && need === 'meshes')),
    /** Files that are skipped, because none of their dependencies has changed, or because their tests are run by another file. */
    unchanged,
    /** Whether fault tests run at full length. */
    full: faults,
    /** Whether the files are the stories of the cluster. */
    cluster,
  };
}
