import type { TenantCaller } from '@parley/kernel/caller';
import { notFound } from '@parley/kernel/errors';
import { agentQueueKey } from './agent-queue-key.ts';
import { agentStore } from './agent-store.ts';
import type { Ports } from './ports.ts';

/** Sessions and audit log of a deleted agent stay readable. */
export async function deleteAgent(ports: Ports, caller: TenantCaller, id: number, signal?: AbortSignal): Promise<void> {
  const deleted = await ports.database.transact(caller.tenantId, (db) => agentStore(db).markDeleted(id), {
    turn: agentQueueKey(caller, id),
    signal,
  });
  if (!deleted) throw notFound('Agent', id);
}
