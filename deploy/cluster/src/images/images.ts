import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '@parley/servers/root';
import type { ClusterFolders } from '../folders.ts';
import { ensureTool } from '../install/tools.ts';
import { exclusively } from '../lock.ts';
import { buildImages, imageNames } from './build-images.ts';
import { openBuildah } from './buildah.ts';
import { loadImages, runningNodes } from './load-images.ts';
import { pruneImages } from './prune-images.ts';

export interface ImagesOptions {
  folders: ClusterFolders;
  /** The units whose images are built. Default: all. */
  units?: readonly string[];
  /** The commit to build. Default: the current files of this checkout. */
  commit?: string;
  signal: AbortSignal;
  say(line: string): void;
}

/** Built images are stored outside the state folder, so that the newest ones survive `down`. */
const storeOf = ({ state }: ClusterFolders) => join(dirname(state), 'images');

/**
 * Builds images whose content has changed, and loads them on the nodes. If another process builds images, waits until it has finished.
 * @returns the tag of all images, and the folder that contains the source files of the images
 * @throws Error if no cluster runs
 */
export async function provideImages(options: ImagesOptions): Promise<{ tag: string; checkout: string }> {
  const { folders, signal, say } = options;
  runningNodes(folders);
  const installed = await ensureTool('builder', { tools: folders.tools, signal, say });
  const store = storeOf(folders);
  return exclusively(join(store, 'lock'), signal, () => buildAndLoad(store, installed, options));
}

async function buildAndLoad(
  store: string,
  installed: string,
  { folders, units = imageNames, commit, signal, say }: ImagesOptions,
): Promise<{ tag: string; checkout: string }> {
  const buildah = openBuildah({ installed, folder: store, signal });
  const folder = join(store, 'build');
  const checkout = commit === undefined ? root : filesOf(commit, join(store, 'checkout'));
  const { tag, images } = await buildImages({ buildah, checkout, installed: root, folder, units, signal, say });
  await loadImages(tag, images, { folders, buildah, folder, signal, say });
  const current = images.map(({ image }) => image);
  await pruneImages(buildah, current).catch((error: unknown) => {
    signal.throwIfAborted();
    say(`old images were not deleted: ${error instanceof Error ? error.message : error}`);
  });
  return { tag, checkout };
}

/** Empties `folder`, then extracts the files of a commit into it. */
function filesOf(commit: string, folder: string): string {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 2 ** 30 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  return folder;
}
