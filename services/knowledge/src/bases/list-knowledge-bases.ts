import type { TenantRequest } from '@parley/kernel/caller-request';
import type { KnowledgeBase } from '../knowledge.ts';
import type { Ports } from '../ports.ts';
import { baseStore } from './base-store.ts';

export async function listKnowledgeBases(
  { database }: Pick<Ports, 'database'>,
  { caller }: TenantRequest,
): Promise<KnowledgeBase[]> {
  return database.transact(caller.tenantId, (db) => baseStore(db).list());
}
