import { type Caller, inTenant } from '@parley/kernel/caller';
import { baseStore } from './base-store.ts';
import type { KnowledgeBase } from './knowledge.ts';
import type { Ports } from './ports.ts';

export async function listKnowledgeBases(
  { database }: Pick<Ports, 'database'>,
  caller: Caller,
): Promise<KnowledgeBase[]> {
  return database.transact(inTenant(caller).tenantId, (db) => baseStore(db).list());
}
