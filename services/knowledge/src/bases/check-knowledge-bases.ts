import type { TenantRequest } from '@parley/kernel/caller-request';
import { invalid } from '@parley/kernel/errors';
import type { Ports } from '../ports.ts';
import { baseStore } from './base-store.ts';

const maxIds = 5;

/**
 * Checks that all bases exist.
 * @throws DomainError `notFound` if a base is absent, deleted or of another tenant
 * @throws DomainError `invalid` if there are too many ids
 */
export async function checkKnowledgeBases(
  { database }: Pick<Ports, 'database'>,
  { caller }: TenantRequest,
  ids: readonly number[],
): Promise<void> {
  if (ids.length > maxIds) throw invalid({ path: 'knowledge_base_ids', message: `must have at most ${maxIds} ids` });
  await database.transact(caller.tenantId, async (db) => {
    for (const id of ids) await baseStore(db).get(id);
  });
}
