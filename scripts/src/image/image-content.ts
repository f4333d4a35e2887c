import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { readManifest, readWorkspaces, type Workspace } from '../read-workspaces.ts';

/** The parts of the checkout that an image contains. */
export interface ImageContent {
  /** The path in the checkout of the file that Node starts. */
  main: string;
  /** The workspace of the unit, and all workspaces that it depends on. */
  workspaces: Workspace[];
  /** The workspaces' files except manifests, by path in the checkout. */
  files: string[];
  /** For packages of which only a few files are used: patterns of the files to keep, by package (`parley.image.packageFiles`). */
  packageFiles: Record<string, string[]>;
  /** Patterns of unused packages that other packages require: `parley.image.withoutPackages`. */
  withoutPackages: string[];
}

const main = 'src/main.ts';
const unused = /(^|\/)(test|testing|node_modules)\/|\.test\.ts$|\.md$/u;

/** Returns the names of all images: the units' images and `commands`. */
export function imageNames(root: string): string[] {
  return startable(readWorkspaces(root), root).map(nameOf);
}

/** Returns the content of an image. @throws Error for an unknown name. */
export function imageContent(root: string, name: string): ImageContent {
  const all = readWorkspaces(root);
  const started = startable(all, root).find((each) => nameOf(each) === name);
  if (!started) throw new Error(`There is no unit ${name}, but ${imageNames(root).join(', ')}`);
  const workspaces = withDependencies(started, all);
  const files = workspaces.flatMap(({ folder, manifest: { files: shipped = ['src'] } }) => {
    const patterns = shipped.flatMap((path) => [path, `${path}/**/*`]);
    return globSync(patterns, { cwd: join(root, folder), withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
  });
  return {
    main: join(started.folder, main),
    workspaces,
    files: files.filter((file) => !unused.test(file)).toSorted(),
    packageFiles: Object.assign({}, ...workspaces.map(({ manifest }) => manifest.parley?.image?.packageFiles)),
    withoutPackages: workspaces.flatMap(({ manifest }) => manifest.parley?.image?.withoutPackages ?? []),
  };
}

/** Returns the root manifest of an image, with which npm installs only the production dependencies of these workspaces. */
export function rootManifest(root: string, workspaces: Workspace[]): object {
  const { name, overrides } = readManifest(root, '.');
  return { name, private: true, type: 'module', workspaces: workspaces.map(({ folder }) => folder), overrides };
}

function startable(workspaces: Workspace[], root: string): Workspace[] {
  return workspaces.filter(({ folder }) => existsSync(join(root, folder, main)));
}

function nameOf({ manifest }: Workspace): string {
  return manifest.name.replace('@parley/', '');
}

function withDependencies(started: Workspace, all: Workspace[]): Workspace[] {
  const found = new Set([started]);
  for (const { manifest } of found) {
    const needed = Object.keys(manifest.dependencies ?? {});
    for (const each of all) if (needed.includes(each.manifest.name)) found.add(each);
  }
  return [...found];
}
