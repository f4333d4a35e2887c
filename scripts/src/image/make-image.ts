import { execFile } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, matchesGlob, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { imageContent, rootManifest } from './image-content.ts';

/** Files that no process reads. Types and source maps are two fifths of all packages. */
const unread = /\.(d\.[cm]?ts|map)$/u;

/**
 * Makes the file tree of an image in `folder`. Every user may read it, and its owner alone write.
 * @returns its size.
 * @throws Error for an unknown name, where there are files in the folder, and with what npm says where that fails.
 */
export async function makeImage(root: string, name: string, folder: string) {
  const { main, workspaces, files, packageFiles, withoutPackages } = imageContent(root, name);
  const tree = resolve(folder);
  if (existsSync(tree) && readdirSync(tree).length > 0) throw new Error(`${folder} is not empty`);
  const usual = process.umask(0o022);
  try {
    const write = (path: string, content: string | Buffer) => {
      mkdirSync(dirname(join(tree, path)), { recursive: true });
      writeFileSync(join(tree, path), content);
    };
    const writeManifest = (path: string, manifest: object) => write(path, `${JSON.stringify(manifest, null, 2)}\n`);
    writeManifest('package.json', rootManifest(root, workspaces));
    for (const { folder: workspace, manifest } of workspaces) {
      const { devDependencies: _, ...shipped } = manifest;
      writeManifest(join(workspace, 'package.json'), shipped);
    }
    await install(root, tree);
    for (const pattern of withoutPackages) remove(join(tree, 'node_modules'), pattern);
    for (const [name, kept] of Object.entries(packageFiles)) prune(join(tree, 'node_modules', name), kept);
    for (const file of files) write(file, await readFile(join(root, file)));
    symlinkSync(main, join(tree, 'main.ts'));
  } finally {
    process.umask(usual);
  }
  return sizeOf(tree);
}

async function install(root: string, tree: string): Promise<void> {
  const inputs = ['package-lock.json', '.npmrc'];
  for (const file of inputs) copyFileSync(join(root, file), join(tree, file));
  const args = [
    'ci',
    '--omit=dev',
    '--ignore-scripts',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  await promisify(execFile)('npm', args, { cwd: tree });
  for (const file of inputs) rmSync(join(tree, file));
  for (const file of filesIn(tree).filter((path) => unread.test(path))) rmSync(file);
}

/** Removes the packages that match: which of them are installed depends on the machine. */
function remove(modules: string, pattern: string): void {
  for (const name of globSync(pattern, { cwd: modules })) rmSync(join(modules, name), { recursive: true });
}

/** Leaves of an installed package these files and its manifest. @throws Error for a pattern that no file matches */
function prune(folder: string, kept: string[]): void {
  const files = filesIn(folder).map((file) => relative(folder, file));
  const missing = kept.find((pattern) => !files.some((file) => matchesGlob(file, pattern)));
  if (missing) throw new Error(`${folder} has no ${missing}`);
  const unused = files.filter((file) => ![...kept, 'package.json'].some((pattern) => matchesGlob(file, pattern)));
  for (const file of unused) rmSync(join(folder, file));
}

function sizeOf(tree: string) {
  const files = filesIn(tree);
  return {
    files: files.length,
    bytes: files.reduce((sum, file) => sum + statSync(file).size, 0),
    packages: files.filter((file) => /\/node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/u.test(file)).length,
  };
}

/** All files below a folder, without what is behind links: `recursive` would follow them. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesIn(path);
    return entry.isFile() ? [path] : [];
  });
}
