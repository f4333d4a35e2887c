import type { TenantRequest } from '@parley/kernel/caller-request';
import { requireId } from '@parley/kernel/row-id';
import type { TenantDb } from '@parley/postgres/database/types';
import { jobs } from '@parley/postgres/jobs/jobs';
import type { Ports } from './ports.ts';
import { requireOwnSession } from './require-own-session.ts';
import { assertActive } from './session.ts';
import { lockQueueOf } from './session-lock-queue.ts';
import { sessionStore } from './session-store.ts';
import { turnKind } from './turn-job.ts';
import { turnStore } from './turn-store.ts';

/**
 * Interrupts the running reply; the replica that runs it stores the text so far. Returns true for the first call that interrupts a reply,
 * otherwise false.
 * @throws DomainError `notFound` if there is no such session
 * @throws DomainError `forbidden` if the token belongs to another session
 * @throws DomainError `invalid` if the session is not active
 */
export async function interruptSession(ports: Ports, { caller, signal }: TenantRequest, id: string): Promise<boolean> {
  const { tenantId } = caller;
  requireOwnSession(caller, id);
  const sessionId = requireId('Session', id);

  const interrupt = async (db: TenantDb) => {
    assertActive(await sessionStore(db).lock(sessionId));
    await sessionStore(db).countInterrupt(sessionId);
    const begun = await jobs(db).cancel({ kind: turnKind, key: String(sessionId) });
    // The reply may be complete before the cancellation arrives. So the transaction that stores the reply reads the mark that is set here.
    return begun && (await turnStore(db).markFirstInterrupted(sessionId));
  };
  return ports.database.transact(tenantId, interrupt, { lockQueue: lockQueueOf({ tenantId, sessionId }), signal });
}
