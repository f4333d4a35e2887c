import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterFolders } from './folders.ts';
import { standingCluster } from './host-network.ts';

const fileOf = ({ state }: Pick<ClusterFolders, 'state'>) => join(state, 'up');

/** Records that a start has completed. A cluster without this mark is incomplete, because its start was killed. */
export function markUp(folders: Pick<ClusterFolders, 'state'>): void {
  writeFileSync(fileOf(folders), '');
}

export function unmarkUp(folders: Pick<ClusterFolders, 'state'>): void {
  rmSync(fileOf(folders), { force: true });
}

/** Reports whether a start has completed and no removal of its cluster has begun. */
export function isMarkedUp(folders: Pick<ClusterFolders, 'state'>, owner = standingCluster()): boolean {
  return owner === folders.state && existsSync(fileOf(folders));
}
