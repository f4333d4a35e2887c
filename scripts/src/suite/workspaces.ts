import { globSync } from 'node:fs';
import { basename, join, matchesGlob } from 'node:path';
import { z } from 'zod';
import { readWorkspaces } from '../read-workspaces.ts';

/** Resources that a workspace's tests can need: real servers, and the meshes that are started once per run. */
export const needs = ['postgres', 'redis', 'kafka', 's3', 'meshes'] as const;
export type Need = (typeof needs)[number];

/** `parley.tests` of a workspace's package.json: how the runner handles its tests. */
const declaration = z.strictObject({
  /** Resources that tests use if available. Default: none. */
  needs: z.array(z.enum(needs)).default([]),
  /**
   * Files that are not run a second time if they fail in CI. The files that share their process are not run again either. Patterns relative
   * to the folder.
   */
  once: z.array(z.string()).default([]),
  /** Fault tests, which have a longer version for `--faults`. Patterns relative to the folder. */
  faults: z.array(z.string()).default([]),
  /** Stories of an installation in Kubernetes, which run only with `--cluster`. Patterns relative to the folder. */
  cluster: z.array(z.string()).default([]),
  /**
   * Files that run only if one of these paths of the checkout has changed, if the command line names them, or with `--faults`. A file with
   * an empty list never runs because of a change: its tests run in another file, or only with `--faults`.
   */
  whenChanged: z.record(z.string(), z.array(z.string())).default({}),
  /**
   * Files that share a process, because starting a process takes longer than their tests. Files that match the same pattern share one. They
   * must clean up, have no hooks around each test, declare all tests synchronously, and have unique titles. Patterns relative to the
   * folder.
   */
  together: z.array(z.string()).default([]),
});

export interface Workspace extends z.infer<typeof declaration> {
  /** The last part of the folder, e.g. `session`. */
  name: string;
  /** The path in the checkout, e.g. `services/session`. */
  folder: string;
  /** The paths of the workspace's test files in the checkout. */
  files: string[];
}

/** Returns the workspaces of the checkout that have tests. @throws Error for an invalid declaration. */
export function testedWorkspaces(root: string): Workspace[] {
  const all = readWorkspaces(root);
  return all
    .map(({ folder, manifest }) => {
      const { success, data, error } = declaration.safeParse(manifest.parley?.tests ?? {});
      if (!success) throw new Error(`${folder}/package.json, parley.tests: ${z.prettifyError(error)}`);
      const found = globSync('**/*.test.ts', { cwd: join(root, folder), exclude: (name) => name === 'node_modules' });
      const within = all.filter((other) => other.folder.startsWith(`${folder}/`));
      const files = found
        .map((file) => join(folder, file))
        .filter((file) => !within.some((other) => file.startsWith(`${other.folder}/`)));
      return { ...data, name: basename(folder), folder, files };
    })
    .filter(({ files }) => files.length > 0);
}

/** Reports whether the workspace's declaration lists the file under this key. */
export function isDeclared(as: 'once' | 'faults' | 'cluster', workspace: Workspace, file: string): boolean {
  return workspace[as].some((pattern) => matchesGlob(file, join(workspace.folder, pattern)));
}

/** Groups the workspace's files by the process in which they run. */
export function byProcess({ folder, together, files }: Workspace): string[][] {
  const patternOf = (file: string) => together.find((pattern) => matchesGlob(file, join(folder, pattern))) ?? file;
  return [...Map.groupBy(files, patternOf).values()];
}

/** Reports whether a file can be skipped as unchanged. @param changed the changed paths of the checkout; undefined if unknown. */
export function isUnchanged({ folder, whenChanged }: Workspace, file: string, changed: string[] | undefined): boolean {
  const [, about] = Object.entries(whenChanged).find(([name]) => join(folder, name) === file) ?? [];
  if (!about) return false;
  if (about.length === 0) return true;
  return changed !== undefined && !changed.some((path) => about.some((start) => path.startsWith(start)));
}
