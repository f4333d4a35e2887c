import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

interface Manifest {
  name: string;
  dependencies?: Record<string, string>;
  workspaces?: string[];
}

/** Files that no build reads, because .dockerignore excludes them. */
const unread = /(^|\/)(test|testing|node_modules)(\/|$)|\.test\.ts$|\.md$/u;

/** Files that the build of every image reads. */
const common = [
  'package.json',
  'package-lock.json',
  '.npmrc',
  '.dockerignore',
  'deploy/docker/*',
  'scripts/src/{attempt,image,read-options,read-workspaces,root}.ts',
  'scripts/src/image/*.ts',
];

/**
 * Returns a hash that identifies the content of an image. It covers the files of the unit, of the workspaces on which the unit depends, and
 * of the build. A change of one unit does not change the keys of other units.
 * @param unit the unit's name, or `commands`
 * @param base the base image
 * @throws Error for an unknown unit
 */
export function imageKey(checkout: string, unit: string, base: string): string {
  const patterns = [...common, ...workspacesOf(checkout, unit).map((folder) => `${folder}/**/*`)];
  const exclude = (path: string) => unread.test(path);
  const files = globSync(patterns, {
    cwd: checkout,
    withFileTypes: true,
    exclude: ({ parentPath, name }) => exclude(join(parentPath, name).slice(checkout.length)),
  })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(checkout.length + 1))
    .filter((file) => !exclude(file));
  const hash = createHash('sha256').update(`${unit}\n${base}\n`);
  for (const file of [...new Set(files)].toSorted())
    hash.update(`${file}\n`).update(readFileSync(join(checkout, file)));
  return hash.digest('hex').slice(0, 16);
}

/** Returns the folders of a unit's workspace and of the workspaces it depends on. */
function workspacesOf(checkout: string, unit: string): string[] {
  const read = (folder: string): Manifest => JSON.parse(readFileSync(join(checkout, folder, 'package.json'), 'utf8'));
  const patterns = (read('.').workspaces ?? []).map((pattern) => `${pattern}/package.json`);
  const folders = globSync(patterns, { cwd: checkout }).map((file) => dirname(file));
  const byName = new Map(folders.map((folder) => [read(folder).name, folder]));
  const found = new Set([byName.get(`@parley/${unit}`) ?? missing(unit)]);
  for (const folder of found) {
    for (const name of Object.keys(read(folder).dependencies ?? {})) {
      const needed = byName.get(name);
      if (needed !== undefined) found.add(needed);
    }
  }
  return [...found].toSorted();
}

function missing(unit: string): never {
  throw new Error(`There is no unit ${basename(unit)}`);
}
