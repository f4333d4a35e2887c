import type { Node } from '../addresses.ts';
import type { Kubectl } from './kubectl.ts';

/**
 * Undoes the changes of an interrupted install or story. Deletes Helm's record of a pending change, because Helm would refuse every other
 * change of the release; the next change then starts from the revision before the pending one. Uncordons nodes, because no pods start on
 * cordoned nodes.
 */
export async function undoInterrupted(
  kubectl: Pick<Kubectl, 'run'>,
  release: string,
  nodes: readonly Node[],
): Promise<void> {
  const pending = `owner=helm,name=${release},status in (pending-install,pending-upgrade,pending-rollback)`;
  await kubectl.run(['delete', 'secrets', '--selector', pending]);
  await kubectl.run(['uncordon', ...nodes.map(({ name }) => name)]);
}
