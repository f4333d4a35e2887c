import { type Caller, inTenant } from '@parley/kernel/caller';
import { badRequest } from '@parley/kernel/errors';
import type { Ports } from './ports.ts';
import type { SessionStatus } from './session.ts';
import { parseId } from './session-id.ts';
import { sessionStore } from './session-store.ts';

const mostAtOnce = 1_000;

/** How these sessions of the caller's tenant stand; those that are not there are left out. */
export async function resolveSessions(
  { database }: Ports,
  caller: Caller,
  given: readonly number[],
): Promise<{ id: number; status: SessionStatus }[]> {
  const { tenantId } = inTenant(caller);
  if (given.length > mostAtOnce) throw badRequest(`Ask for at most ${mostAtOnce} sessions at once`);
  const ids = given.filter((id) => parseId(id) !== undefined);
  return ids.length === 0 ? [] : database.transact(tenantId, (db) => sessionStore(db).listStatuses(ids));
}
