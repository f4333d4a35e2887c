import type { ClusterFolders } from '../folders.ts';
import { exclusively } from '../lock.ts';
import { stopEngines } from './engines.ts';
import { stopOutside } from './outside.ts';
import { engineFolders, folderOf, installLockOf } from './places.ts';
import { endProcessesIn } from './processes-in.ts';

/**
 * Stops the processes of an installation that run outside the cluster, if there is an installation. While `install` runs, waits for it. The
 * installation's namespace is removed with the cluster.
 */
export async function leave(
  folders: ClusterFolders,
  { signal, say }: { signal: AbortSignal; say(line: string): void },
): Promise<void> {
  const [own, engines] = [folderOf(folders), engineFolders(folders)];
  await exclusively(installLockOf(folders), signal, async () => {
    const stops = [stopOutside(own), stopEngines({ ...engines, signal, say })];
    for (const stop of await Promise.allSettled(stops)) {
      if (stop.status === 'rejected') say(stop.reason instanceof Error ? stop.reason.message : String(stop.reason));
    }
    // The installation's processes are outside the cluster's cgroup. All processes that work in the installation's folders are killed,
    // including those whose record was lost.
    for (const pid of await endProcessesIn([own, engines.folders.data]))
      say(`process ${pid} had no record, and was killed`);
  });
}
