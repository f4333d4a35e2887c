import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The files that differ between two folders, or are in one of them only, by their path below it. */
export function drift(expected: string, present: string): string[] {
  const all = new Set([...filesBelow(expected), ...filesBelow(present)]);
  return [...all].filter((path) => !isSame(join(expected, path), join(present, path))).toSorted();
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}

function isSame(a: string, b: string): boolean {
  const [left, right] = [read(a), read(b)];
  return left !== undefined && right !== undefined && left.equals(right);
}

function read(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined; // It is in the other folder only.
  }
}
