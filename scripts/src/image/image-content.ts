import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { readManifest, readWorkspaces, type Workspace } from '../read-workspaces.ts';

/** The parts of the checkout that an image contains. */
export interface ImageContent {
  /** The file that Node starts, by its path in the checkout. */
  main: string;
  /** The workspace of the unit and those that it depends on. */
  workspaces: Workspace[];
  /** Their files, by the path in the checkout, without the manifests. */
  files: string[];
  /** Patterns of the files to keep by package, for packages of which only a few files are used: `parley.image.packageFiles`. */
  packageFiles: Record<string, string[]>;
  /** Patterns of packages that others ask for and nothing uses: `parley.image.withoutPackages`. */
  withoutPackages: string[];
}

const main = 'src/main.ts';
const unused = /(^|\/)(test|testing|node_modules)\/|\.test\.ts$|\.md$/u;

/** The names of all images: of the units, and `commands`. */
export function imageNames(root: string): string[] {
  return startable(readWorkspaces(root), root).map(nameOf);
}

/** The content of the image of this name. @throws Error for an unknown one. */
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

/** The manifest of the root for an image: npm installs what these workspaces need in production, and nothing else. */
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
