import type { TenantRequest } from '@parley/kernel/caller-request';
import { badRequest } from '@parley/kernel/errors';
import { parseId } from '@parley/kernel/row-id';
import type { Ports } from './ports.ts';
import type { SessionStatus } from './session.ts';
import { sessionStore } from './session-store.ts';

const maxIds = 1_000;

/**
 * Returns the statuses of sessions. Omits ids that do not exist or belong to other tenants.
 * @throws DomainError `invalid` for more than `maxIds` ids
 */
export async function resolveSessions(
  { database }: Ports,
  { caller: { tenantId } }: TenantRequest,
  given: readonly number[],
): Promise<{ id: number; status: SessionStatus }[]> {
  if (given.length > maxIds) throw badRequest(`Ask for at most ${maxIds} sessions at once`);
  const ids = given.filter((id) => parseId(id) !== undefined);
  return ids.length === 0 ? [] : database.transact(tenantId, (db) => sessionStore(db).listStatuses(ids));
}
