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

/** Files that no process reads. Types and source maps make up two fifths of all packages. */
const unread = /\.(d\.[cm]?ts|map)$/u;

/**
 * Creates the file tree of an image in `folder`. Every user may read the tree, only its owner may write.
 * @returns the size of the tree.
 * @throws Error if no image has this name, or the folder is not empty
 * @throws Error with npm's output if npm fails
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

/** Removes installed packages that match the pattern. Which of these packages npm installs can depend on the machine. */
function remove(modules: string, pattern: string): void {
  for (const name of globSync(pattern, { cwd: modules })) rmSync(join(modules, name), { recursive: true });
}

/** Removes all files of an installed package except the matching ones and its manifest. @throws Error for a pattern that no file matches */
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

/** Returns all files below a folder. Does not follow links, unlike the option `recursive` of `readdir`. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesIn(path);
    return entry.isFile() ? [path] : [];
  });
}
