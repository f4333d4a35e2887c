import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns the relative paths of files that differ between two folders, or exist in only one of them. */
export function drift(expected: string, present: string): string[] {
  const [wanted, there] = [textsIn(expected), textsIn(present)];
  return [...new Set([...wanted.keys(), ...there.keys()])]
    .filter((path) => wanted.get(path) !== there.get(path))
    .toSorted();
}

function textsIn(folder: string): Map<string, string> {
  const entries = globSync('**', { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile());
  const files = entries.map((entry) => join(entry.parentPath, entry.name));
  return new Map(files.map((file) => [file.slice(folder.length + 1), readFileSync(file, 'latin1')]));
}
