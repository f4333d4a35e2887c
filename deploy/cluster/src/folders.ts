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

/**
 * Returns the whole environment of kubectl and Helm. Variables of the caller, such as HELM_KUBEAPISERVER or HTTPS_PROXY, could lead them to
 * another cluster.
 */
export function clientEnv({ state }: Pick<ClusterFolders, 'state'>) {
  return { PATH: process.env.PATH, HOME: state };
}

/** Returns the path of the administrator's kubeconfig. */
export function adminKubeconfig({ state }: Pick<ClusterFolders, 'state'>): string {
  return join(state, 'admin.kubeconfig');
}
