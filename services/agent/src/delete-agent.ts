import type { TenantCaller } from '@parley/kernel/caller';
import { notFound } from '@parley/kernel/errors';
import { agentQueueKey } from './agent-queue-key.ts';
import { agentStore } from './agent-store.ts';
import type { Ports } from './ports.ts';

/** Soft-deletes an agent; its sessions and audit log stay readable. @throws DomainError `notFound`, also if already deleted. */
export async function deleteAgent(ports: Ports, caller: TenantCaller, id: number, signal?: AbortSignal): Promise<void> {
  const deleted = await ports.database.transact(caller.tenantId, (db) => agentStore(db).markDeleted(id), {
    turn: agentQueueKey(caller, id),
    gone: signal,
  });
  if (!deleted) throw notFound('Agent', id);
}
