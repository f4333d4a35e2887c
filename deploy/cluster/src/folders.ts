import { join } from 'node:path';
import { root } from '@parley/servers/root';

export interface ClusterFolders {
  /** Installed programs, shared with `scripts/servers`. */
  tools: string;
  /** All state of the cluster; deleted by `down`. */
  state: string;
}

export const folders: ClusterFolders = {
  tools: join(root, '.tools/servers'),
  state: join(root, '.parley/cluster/run'),
};

/** Returns the path of the administrator's kubeconfig. */
export function adminKubeconfig({ state }: Pick<ClusterFolders, 'state'>): string {
  return join(state, 'admin.kubeconfig');
}
