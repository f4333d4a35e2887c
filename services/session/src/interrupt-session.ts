import type { Caller } from '@parley/kernel/caller';
import { notFound } from '@parley/kernel/errors';
import type { TenantDb } from '@parley/postgres/database/types';
import { jobs } from '@parley/postgres/jobs/jobs';
import type { Ports } from './ports.ts';
import { assertActive } from './session.ts';
import { callerOfSession, parseId } from './session-id.ts';
import { sessionStore } from './session-store.ts';
import { turnOf } from './session-turn.ts';
import { turnKind } from './turn-job.ts';
import { turnStore } from './turn-store.ts';

/**
 * Cuts the running reply, on whichever replica it runs, and answers whether this call has: a reply is cut once, however often
 * it is asked for until that has taken effect. What was said of it is kept: its holder stores it as the MODEL message.
 */
export async function interruptSession(ports: Ports, caller: Caller, id: string, gone?: AbortSignal): Promise<boolean> {
  const { tenantId } = callerOfSession(caller, id);
  const sessionId = parseId(id);
  if (sessionId === undefined) throw notFound('Session', id);

  const interrupt = async (db: TenantDb) => {
    assertActive(await sessionStore(db).lock(sessionId));
    await sessionStore(db).countInterrupt(sessionId);
    const begun = await jobs(db).cancel({ kind: turnKind, key: String(sessionId) });
    // The holder may be through with its reply when the cancellation reaches it: this it sees when it stores it.
    return begun && (await turnStore(db).interruptFirst(sessionId));
  };
  return ports.database.transact(tenantId, interrupt, { turn: turnOf({ tenantId, sessionId }), gone });
}
