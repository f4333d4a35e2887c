import { join } from 'node:path';
import { hostAddress } from '../addresses.ts';
import type { ClusterFolders } from '../folders.ts';

/** The files of an installation on this machine. */
export const folderOf = ({ state }: ClusterFolders) => join(state, 'install');

/** Where the engines of an installation are installed, keep their data, and listen. */
export function engineFolders({ tools, state }: ClusterFolders) {
  return { folders: { tools, data: join(state, 'engines') }, host: hostAddress };
}
