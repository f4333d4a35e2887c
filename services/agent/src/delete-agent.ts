import type { TenantCaller } from '@parley/kernel/caller';
import { notFound } from '@parley/kernel/errors';
import { agentStore } from './agent-store.ts';
import { turnOf } from './agent-turn.ts';
import type { Ports } from './ports.ts';

/** Takes an agent out of use; what it took part in stays readable. @throws DomainError `notFound`, also the second time. */
export async function deleteAgent(
  ports: Pick<Ports, 'database'>,
  caller: TenantCaller,
  id: number,
  gone?: AbortSignal,
): Promise<void> {
  const deleted = await ports.database.transact(caller.tenantId, (db) => agentStore(db).markDeleted(id), {
    turn: turnOf(caller, id),
    gone,
  });
  if (!deleted) throw notFound('Agent', id);
}
