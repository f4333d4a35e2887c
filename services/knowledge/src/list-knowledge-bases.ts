import type { TenantRequest } from '@parley/kernel/caller-request';
import { baseStore } from './base-store.ts';
import type { KnowledgeBase } from './knowledge.ts';
import type { Ports } from './ports.ts';

export async function listKnowledgeBases(
  { database }: Pick<Ports, 'database'>,
  { caller }: TenantRequest,
): Promise<KnowledgeBase[]> {
  return database.transact(caller.tenantId, (db) => baseStore(db).list());
}
