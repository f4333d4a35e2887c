import type { ClusterFolders } from './folders.ts';
import { ctr } from './node.ts';
import { readNodes } from './nodes.ts';

/**
 * Imports the images in an archive into every node. Each image keeps its name from the archive. `docker save` and buildah write such
 * archives.
 * @throws Error if a node does not run
 */
export async function importImages(folders: ClusterFolders, archive: string, signal: AbortSignal): Promise<void> {
  for (const node of readNodes(folders)) await ctr({ ...folders, signal }, node, ['images', 'import', archive]);
}
