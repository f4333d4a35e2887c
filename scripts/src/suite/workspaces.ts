import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

export interface Workspace {
  /** `session`. */
  name: string;
  /** `services/session`. */
  folder: string;
  /** Its test files, by their path below the folder. */
  files: string[];
}

/** The workspaces of the checkout that have tests, those with most files first. */
export function testedWorkspaces(root: string): Workspace[] {
  const patterns: string[] = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).workspaces;
  return globSync(patterns, { cwd: root })
    .map((folder) => ({ name: basename(folder), folder, files: testFiles(join(root, folder)) }))
    .filter(({ files }) => files.length > 0)
    .toSorted((a, b) => b.files.length - a.files.length);
}

function testFiles(folder: string): string[] {
  return globSync('**/*.test.ts', { cwd: folder, exclude: (name) => name === 'node_modules' });
}
