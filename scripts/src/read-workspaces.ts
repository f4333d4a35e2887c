import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A package.json. */
interface Manifest {
  name: string;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  /** Files of the folder that are needed at run time. Default: `src`. */
  files?: string[];
  /** Patterns of workspace folders; only in the root package. */
  workspaces?: string[];
  /** Versions forced on transitive dependencies; only in the root package. */
  overrides?: Record<string, string>;
  parley?: { tests?: unknown; image?: { packageFiles?: Record<string, string[]>; withoutPackages?: string[] } };
}

export interface Workspace {
  /** The path in the checkout, e.g. `services/session`. */
  folder: string;
  manifest: Manifest;
}

export function readManifest(root: string, folder: string): Manifest {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
}

/** Returns the workspaces of a checkout, sorted by folder, so that a nested workspace follows the outer one. */
export function readWorkspaces(root: string): Workspace[] {
  const patterns = (readManifest(root, '.').workspaces ?? []).map((pattern) => `${pattern}/package.json`);
  const folders = globSync(patterns, { cwd: root }).map((file) => dirname(file));
  return folders.toSorted().map((folder) => ({ folder, manifest: readManifest(root, folder) }));
}
