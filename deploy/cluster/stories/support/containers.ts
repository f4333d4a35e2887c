import type { ClusterFolders } from '../../src/folders.ts';
import type { Pod } from '../../src/install/kubectl.ts';
import { ctr } from '../../src/node.ts';
import { readNodes } from '../../src/nodes.ts';

/** Returns containerd's ids of a pod's containers. */
export function containerIds(pod: Pod | undefined): string[] {
  return (pod?.status.containerStatuses ?? []).flatMap(
    ({ containerID }) => containerID?.replace('containerd://', '') ?? [],
  );
}

/** Ends the processes of a container with SIGKILL, as the kernel does when the container exceeds its memory limit. */
export async function killContainer(folders: ClusterFolders, nodeName: string, container: string): Promise<void> {
  const node = readNodes(folders).find(({ name }) => name === nodeName);
  if (!node) throw new Error(`there is no node ${nodeName}`);
  const signal = AbortSignal.timeout(20_000);
  await ctr({ ...folders, signal }, node, ['tasks', 'kill', '--all', '--signal', 'SIGKILL', container]);
}
