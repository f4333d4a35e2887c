import type { TenantRequest } from '@parley/kernel/caller-request';
import { invalid } from '@parley/kernel/errors';
import type { Ports } from '../ports.ts';
import { baseStore, type KnowledgeBaseSummary } from './base-store.ts';

const maxIds = 200;

/** Returns the given bases that exist; without ids, the tenant's first bases. @throws DomainError `invalid` if there are too many ids */
export async function summarizeKnowledgeBases(
  { database }: Pick<Ports, 'database'>,
  { caller }: TenantRequest,
  ids: readonly number[],
): Promise<KnowledgeBaseSummary[]> {
  if (ids.length > maxIds) throw invalid({ path: 'knowledge_base_ids', message: `must have at most ${maxIds} ids` });
  return database.read(caller.tenantId, (db) => baseStore(db).listFirst(maxIds, ids.length > 0 ? ids : undefined));
}
