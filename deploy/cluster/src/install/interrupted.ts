import type { Node } from '../addresses.ts';
import type { Kubectl } from './kubectl.ts';

/**
 * Undoes what an interrupted install or story leaves: a pending change, for which Helm refuses every other change of the release, and
 * cordoned nodes, on which pods do not start. Helm's next change starts from the revision before the pending one.
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
