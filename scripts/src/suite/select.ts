import { changedPaths } from './changes.ts';
import { declaredChecks } from './checks.ts';
import { isDeclared, isUnchanged, needs, testedWorkspaces, type Workspace } from './workspaces.ts';

/** What one run does. */
export type Selection = ReturnType<typeof select>;

export interface SelectOptions {
  /** Names of checks and workspaces; none: all. */
  only: string[];
  /** Parts of the paths of files; with any, no check is run. */
  texts: string[];
  /** Fault tests alone. */
  faults: boolean;
}

export function select(root: string, { only, texts, faults }: SelectOptions) {
  const isChosen = (name: string) => only.length === 0 || only.includes(name);
  const checks = texts.length > 0 || faults ? [] : declaredChecks(root).filter(({ name }) => isChosen(name));
  const isWanted = (workspace: Workspace) => (file: string) =>
    faults === (faults && isDeclared('faults', workspace, file)) &&
    (texts.length === 0 || texts.some((text) => file.includes(text)));
  const wanted = testedWorkspaces(root)
    .filter(({ name }) => isChosen(name))
    .map((workspace) => ({ ...workspace, files: workspace.files.filter(isWanted(workspace)) }));
  // Who asks for a file by its name gets it.
  const isAsked = faults || texts.length > 0;
  const changed = isAsked ? undefined : changedPaths(root);
  const unchanged = wanted.flatMap((each) => each.files.filter((file) => !isAsked && isUnchanged(each, file, changed)));
  const workspaces = wanted
    .map((each) => ({ ...each, files: each.files.filter((file) => !unchanged.includes(file)) }))
    .filter(({ files }) => files.length > 0);
  const asked = new Set(workspaces.flatMap((each) => each.needs));
  return {
    checks,
    /** Test files, by their path in the checkout. */
    files: workspaces.flatMap(({ files }) => files),
    /** Those that have tests among the files. */
    workspaces,
    /** What these tests run on. Fault tests start what they break. */
    needs: needs.filter((need) => asked.has(need) && !(faults && need === 'meshes')),
    /** Files that are left out, because nothing has changed that they are about or because another one runs their tests. */
    unchanged,
    /** Whether fault tests take their full length. */
    full: faults,
  };
}
