import { existsSync } from 'node:fs';
import type { ClusterFolders } from '../folders.ts';
import { stopEngines } from './engines.ts';
import { stopOutside } from './outside.ts';
import { engineFolders, folderOf } from './places.ts';

/** Stops the processes of an installation outside the cluster, if there is an installation. Its namespace is removed with the cluster. */
export async function leave(
  folders: ClusterFolders,
  options: { signal: AbortSignal; say(line: string): void },
): Promise<void> {
  if (!existsSync(folderOf(folders))) return;
  await stopOutside(folderOf(folders));
  await stopEngines({ ...engineFolders(folders), ...options });
}
