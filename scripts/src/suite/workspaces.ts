import { globSync } from 'node:fs';
import { basename, join, matchesGlob } from 'node:path';
import { z } from 'zod';
import { readWorkspaces } from '../read-workspaces.ts';

/** Resources that tests of a workspace can need: real servers, and the meshes that are started once for a run. */
export const needs = ['postgres', 'redis', 'kafka', 's3', 'meshes'] as const;
export type Need = (typeof needs)[number];

/** `parley.tests` of a workspace's package.json: how the runner handles its tests. */
const declaration = z.strictObject({
  /** Resources that tests use if available. Default: none. */
  needs: z.array(z.enum(needs)).default([]),
  /** Files that are never run again when they fail under CI, nor what shares their process. Patterns relative to the folder. */
  once: z.array(z.string()).default([]),
  /** Fault tests, which have a longer version for `--faults`. Patterns relative to the folder. */
  faults: z.array(z.string()).default([]),
  /** Stories of an installation in Kubernetes, which run with `--cluster` alone. Patterns relative to the folder. */
  cluster: z.array(z.string()).default([]),
  /**
   * Files that run only if one of these paths of the checkout has changed, if they are named, and with `--faults`. Without
   * paths, another file runs their tests, or only `--faults` does.
   */
  whenChanged: z.record(z.string(), z.array(z.string())).default({}),
  /**
   * Files that share one process, because starting one takes longer than their tests: all that match the same pattern. They
   * leave nothing behind, have no hooks around each test, declare all tests without waiting, and all their titles differ. Patterns
   * relative to the folder.
   */
  together: z.array(z.string()).default([]),
});

export interface Workspace extends z.infer<typeof declaration> {
  /** `session`. */
  name: string;
  /** `services/session`. */
  folder: string;
  /** Its test files, by their path in the checkout. */
  files: string[];
}

/** The workspaces of the checkout that have tests. @throws Error for an unknown declaration. */
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

/** Whether the workspace of a file lists it under that key. */
export function isDeclared(as: 'once' | 'faults' | 'cluster', workspace: Workspace, file: string): boolean {
  return workspace[as].some((pattern) => matchesGlob(file, join(workspace.folder, pattern)));
}

/** These files of the workspace by the process that they run in. */
export function byProcess({ folder, together, files }: Workspace): string[][] {
  const patternOf = (file: string) => together.find((pattern) => matchesGlob(file, join(folder, pattern))) ?? file;
  return [...Map.groupBy(files, patternOf).values()];
}

/** Whether a file can be skipped as unchanged. @param changed paths of the checkout; undefined if unknown. */
export function isUnchanged({ folder, whenChanged }: Workspace, file: string, changed: string[] | undefined): boolean {
  const [, about] = Object.entries(whenChanged).find(([name]) => join(folder, name) === file) ?? [];
  if (!about) return false;
  if (about.length === 0) return true;
  return changed !== undefined && !changed.some((path) => about.some((start) => path.startsWith(start)));
}
