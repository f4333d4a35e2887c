import type { TenantRequest } from '@parley/kernel/caller-request';
import { notFound } from '@parley/kernel/errors';
import { requireId } from '@parley/kernel/row-id';
import type { Ports } from '../ports.ts';
import { agentQueueKey } from './agent-queue-key.ts';
import { agentStore } from './agent-store.ts';

/** Deletes an agent. Its sessions and audit log stay readable. */
export async function deleteAgent(
  ports: Ports,
  { caller, signal }: TenantRequest,
  agentId: string | number,
): Promise<boolean> {
  const id = requireId('Agent', agentId);
  const deleted = await ports.database.transact(caller.tenantId, (db) => agentStore(db).markDeleted(id), {
    lockQueue: agentQueueKey(caller, id),
    signal,
  });
  if (!deleted) throw notFound('Agent', id);
  return true;
}
