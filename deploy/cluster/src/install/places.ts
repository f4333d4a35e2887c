import { dirname, join } from 'node:path';
import { hostAddress } from '../addresses.ts';
import type { ClusterFolders } from '../folders.ts';

/** Returns the folder of an installation's files. */
export const folderOf = ({ state }: ClusterFolders) => join(state, 'install');

/** Returns the folders and the address of an installation's engines. */
export function engineFolders({ tools, state }: ClusterFolders) {
  return { folders: { tools, data: join(state, 'engines') }, host: hostAddress };
}

/**
 * Returns the lock file that protects an installation while a command changes it. The file is outside the state folder, because `down`
 * deletes that folder.
 */
export const installLockOf = ({ state }: ClusterFolders) => join(dirname(state), 'install.lock');
