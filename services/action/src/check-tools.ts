import type { TenantRequest } from '@parley/kernel/caller-request';
import { invalid, notFound } from '@parley/kernel/errors';
import { customActionStore } from './actions/custom-action-store.ts';
import type { ToolRef } from './calls/call-result.ts';
import { connectorStore } from './connectors/connector-store.ts';
import type { Ports } from './ports.ts';

const maxTools = 100;

/**
 * Checks that the connectors and actions exist; servers are not asked for their tools.
 * @throws DomainError `notFound` if a connector or action is absent, is deleted or belongs to another tenant
 * @throws DomainError `invalid` if there are too many tools
 */
export async function checkTools(
  { database }: Pick<Ports, 'database'>,
  { caller }: TenantRequest,
  refs: readonly ToolRef[],
): Promise<void> {
  if (refs.length > maxTools) throw invalid({ path: 'tools', message: `must have at most ${maxTools} tools` });
  const found = await database.transact(caller.tenantId, async (db) => {
    const [connectors, actions] = await Promise.all([
      connectorStore(db).listSealed(targetsOf(refs, 'TOOL')),
      customActionStore(db).listSealed(targetsOf(refs, 'ACTION')),
    ]);
    return { TOOL: new Set(connectors.map(({ id }) => id)), ACTION: new Set(actions.map(({ id }) => id)) };
  });
  const absent = refs.find(({ kind, target }) => !found[kind].has(target));
  if (absent) throw notFound(absent.kind === 'TOOL' ? 'Connector' : 'Custom action', absent.target);
}

export function targetsOf(refs: readonly ToolRef[], kind: ToolRef['kind']): number[] {
  return [...new Set(refs.filter((ref) => ref.kind === kind).map(({ target }) => target))];
}
