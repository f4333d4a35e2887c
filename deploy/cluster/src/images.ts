import type { ClusterFolders } from './folders.ts';
import { ctr } from './node.ts';
import { readNodes } from './nodes.ts';

/**
 * Gives every node the images of an archive, as `docker save` or buildah writes it. Their names are those in the archive.
 * @throws Error if no cluster runs.
 */
export async function importImages(folders: ClusterFolders, archive: string, signal: AbortSignal): Promise<void> {
  for (const node of readNodes(folders)) await ctr({ ...folders, signal }, node, ['images', 'import', archive]);
}
