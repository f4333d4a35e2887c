import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Node } from '../addresses.ts';
import type { ClusterFolders } from '../folders.ts';
import { ctr } from '../node.ts';
import { readNodes } from '../nodes.ts';
import type { BuiltImage } from './build-images.ts';
import type { Buildah } from './buildah.ts';

export interface LoadOptions {
  folders: ClusterFolders;
  buildah: Buildah;
  /** The folder for temporary archives. */
  folder: string;
  signal: AbortSignal;
  say(line: string): void;
}

/** Returns the nodes of the cluster. @throws Error if no cluster runs */
export function runningNodes(folders: ClusterFolders): Node[] {
  const nodes = readNodes(folders);
  if (nodes.length === 0) throw new Error('no cluster runs: scripts/cluster up');
  return nodes;
}

/**
 * Tags images with this tag on every node. Loads an image only on nodes that do not have it yet under any tag.
 * @throws Error if no cluster runs
 */
export async function loadImages(tag: string, images: readonly BuiltImage[], options: LoadOptions): Promise<void> {
  const { folders, buildah, folder, signal, say } = options;
  const on = (node: Node, ...args: string[]) => ctr({ ...folders, signal }, node, ['images', ...args]);
  const nodes = runningNodes(folders);
  const present = new Map<Node, Set<string>>();
  for (const node of nodes) present.set(node, new Set((await on(node, 'ls', '--quiet')).split('\n')));
  for (const { unit, image } of images) {
    const name = image.replace(/^localhost\//u, 'docker.io/');
    const lacking = nodes.filter((node) => !present.get(node)?.has(name));
    if (lacking.length > 0) {
      const begun = performance.now();
      const archive = join(folder, `${unit}.tar`);
      rmSync(archive, { force: true });
      await buildah.run('push', '--quiet', image, `docker-archive:${archive}:${name}`);
      await Promise.all(lacking.map((node) => on(node, 'import', archive)));
      rmSync(archive);
      say(`${unit}: loaded in ${((performance.now() - begun) / 1000).toFixed(0)} s`);
    }
    for (const node of nodes) await on(node, 'tag', '--force', name, `docker.io/parley/${unit}:${tag}`);
  }
}
