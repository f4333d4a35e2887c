import type { Node } from '../addresses.ts';
import type { Kubectl } from './kubectl.ts';

/**
 * Undoes what an interrupted install or story leaves behind. A pending change makes Helm refuse every other change of the release; the next
 * change starts from the revision before the pending one. On cordoned nodes no pods start.
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
