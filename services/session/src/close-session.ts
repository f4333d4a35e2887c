import { setTimeout as delay } from 'node:timers/promises';
import { isDomainError } from '@parley/kernel/errors';
import { itemOf } from '@parley/live/subscriptions/live-events';
import type { TenantDb } from '@parley/postgres/database/types';
import { jobs } from '@parley/postgres/jobs/jobs';
import { concludeSession } from './conclude-session.ts';
import { cutTurn } from './finish-turn.ts';
import type { Ports } from './ports.ts';
import type { EndStatus, Session } from './session.ts';
import { readShown, sessionEventType, sessionLog, streamOf } from './session-log.ts';
import { sessionStore } from './session-store.ts';
import { turnOf } from './session-turn.ts';
import { turnKind } from './turn-job.ts';
import { turnStore } from './turn-store.ts';

/** How long the holder of the running turn has to cut it, before it is cut from here. */
const patienceMs = 5_000;
/** How often the database is asked where the event log cannot tell. */
const pollMs = 100;

export interface Closing {
  tenantId: number;
  sessionId: number;
  status: EndStatus;
  /** Whether to close it after all, asked with the session's row locked. */
  unless?: (db: TenantDb) => Promise<boolean>;
  /** Aborted when nobody waits for it any more: where it still waits for its turn then, it is not closed. */
  gone?: AbortSignal | undefined;
}

/**
 * Ends a session and answers it as it is then; one that has ended is answered as it is.
 *
 * Where no turn has begun, one transaction does it all. Where one has, it may run on another replica or wait for its next
 * attempt, and only its holder knows what was said so far, which the transcript is to have. So the session is marked as ending,
 * which closes it to messages, and the turn is cancelled; the transaction in which its holder stores the reply, cut or whole,
 * sees the mark and ends the session in the same breath. A holder that died or left has a successor, which does the same. Whoever
 * called waits for that here, and if nothing comes of it, cuts the turn itself with what the event log has of it; the holder
 * then finds its turn ended.
 */
export async function closeSession(
  ports: Ports,
  { tenantId, sessionId, status, unless, gone }: Closing,
): Promise<Session> {
  const close = async (db: TenantDb) => {
    const found = await sessionStore(db).lock(sessionId);
    if (found.status !== 'ACTIVE' || (await unless?.(db))) return { session: found, waits: false };
    if (found.endingAs) return { session: found, waits: true };
    await jobs(db).removeQueued(turnKind, String(sessionId), { notBegun: true });
    if (!(await jobs(db).cancel({ kind: turnKind, key: String(sessionId) }))) {
      return { session: await concludeSession(ports, db, found, status), waits: false };
    }
    await sessionStore(db).markEnding(sessionId, status);
    return { session: found, waits: true };
  };
  const turn = turnOf({ tenantId, sessionId });
  const { session, waits } = await ports.database.transact(tenantId, close, { turn, gone });
  if (!waits) return session;
  return (await ended(ports, session)) ?? (await forceEnd(ports, session, status));
}

/** The session once it has ended, or undefined when it has not in time. */
async function ended(ports: Ports, { tenantId, id }: Session): Promise<Session | undefined> {
  const find = async () => {
    const session = await ports.database.transact(tenantId, (db) => sessionStore(db).get(id));
    return session.status === 'ACTIVE' ? undefined : session;
  };
  const over = AbortSignal.timeout(patienceMs);
  try {
    const tail = await ports.eventLog.tail(streamOf({ tenantId, id }), { after: 'now' }, over);
    const already = await find();
    if (already) return already;
    for await (const entries of tail) {
      const items = entries.map((entry) => itemOf(sessionEventType, entry));
      if (items.some((item) => item?.kind === 'event' && item.event.kind?.$case === 'sessionStatusChanged')) break;
    }
  } catch (error) {
    if (!isDomainError(error, 'unavailable')) throw error;
    ports.log.warn(
      { err: error, sessionId: id },
      'the log does not tell of the end of a session; the database is asked instead',
    );
  }
  for (;;) {
    const session = await find();
    if (session || over.aborted) return session;
    await delay(pollMs);
  }
}

async function forceEnd(ports: Ports, { tenantId, id }: Session, status: EndStatus): Promise<Session> {
  const log = sessionLog(ports.eventLog, { tenantId, id }, ports.log);
  const begun = await ports.database.transact(tenantId, async (db) => {
    const { lastEventId } = await sessionStore(db).get(id);
    const [first] = await turnStore(db).listOpen(id);
    return first && { ...first, sessionId: id, lastEventId };
  });
  // Before the transaction that holds the session: the log may be slow, or away.
  const shown = begun ? await readShown(ports, log, begun) : '';
  const end = async (db: TenantDb) => {
    const session = await sessionStore(db).lock(id);
    if (session.status !== 'ACTIVE') return session;
    ports.log.warn({ sessionId: id }, 'a turn did not stop for the end of its session; it is cut from outside');
    const [turn] = await turnStore(db).listOpen(id);
    if (!turn) return concludeSession(ports, db, session, status);
    // Still the turn that was read: with its end the session would have ended.
    await cutTurn(ports, db, { session: { ...session, endingAs: session.endingAs ?? status }, turn, log, shown });
    return sessionStore(db).get(id);
  };
  return ports.database.transact(tenantId, end, { turn: turnOf({ tenantId, sessionId: id }) });
}
