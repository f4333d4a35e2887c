import { setTimeout as delay } from 'node:timers/promises';
import { isDomainError } from '@parley/kernel/errors';
import { itemOf } from '@parley/live/subscriptions/live-events';
import type { TenantDb } from '@parley/postgres/database/types';
import { jobs } from '@parley/postgres/jobs/jobs';
import { commitSessionEnd } from './commit-session-end.ts';
import { interruptTurn } from './finish-turn.ts';
import type { Ports } from './ports.ts';
import type { EndStatus, Session } from './session.ts';
import { lockQueueOf } from './session-lock-queue.ts';
import { nothingStreamed, sessionEventType, sessionLog, streamOf } from './session-log.ts';
import { sessionStore } from './session-store.ts';
import { turnKind } from './turn-job.ts';
import { turnStore } from './turn-store.ts';

/**
 * Time in ms to wait until the process that runs a turn has ended the turn. After this time, the process that closes the session ends the
 * turn.
 */
const interruptTimeoutMs = 5_000;
/** Interval in ms at which the database is polled while the event log is unavailable. */
const pollMs = 100;

export interface CloseSession {
  tenantId: number;
  sessionId: number;
  status: EndStatus;
  /** Called with the session's row locked; if it returns true, the session stays open. */
  keepOpenIf?: (db: TenantDb) => Promise<boolean>;
  /** The caller's signal. If it aborts while the call waits for the session's lock, nothing is closed. */
  signal?: AbortSignal | undefined;
}

/**
 * Ends a session. Returns the session unchanged if it had already ended. Only the process that runs a turn knows the turn's reply so far.
 * So this function cancels the turn and marks the session as ending, so that the session accepts no messages. The process that runs the
 * turn then stores the reply and ends the session in one transaction. If that process dies, the next holder of the turn's lease does both.
 * After `interruptTimeoutMs` this function ends the session itself, and takes the reply's text from the event log.
 * @throws DomainError `notFound` if there is no such session
 */
export async function closeSession(
  ports: Ports,
  { tenantId, sessionId, status, keepOpenIf, signal }: CloseSession,
): Promise<Session> {
  const close = async (db: TenantDb) => {
    const found = await sessionStore(db).lock(sessionId);
    if (found.status !== 'ACTIVE' || (await keepOpenIf?.(db))) return { session: found, isEnding: false };
    if (found.endingAs) return { session: found, isEnding: true };
    await jobs(db).removeQueued(turnKind, String(sessionId), { notBegun: true });
    if (!(await jobs(db).cancel({ kind: turnKind, key: String(sessionId) }))) {
      return { session: await commitSessionEnd(ports, db, found, status), isEnding: false };
    }
    await sessionStore(db).markEnding(sessionId, status);
    return { session: found, isEnding: true };
  };
  const lockQueue = lockQueueOf({ tenantId, sessionId });
  const { session, isEnding } = await ports.database.transact(tenantId, close, { lockQueue, signal });
  if (!isEnding) return session;
  return (await waitForEnd(ports, session)) ?? (await forceEnd(ports, session, status));
}

async function waitForEnd(ports: Ports, { tenantId, id }: Session): Promise<Session | undefined> {
  const find = async () => {
    const session = await ports.database.transact(tenantId, (db) => sessionStore(db).get(id));
    return session.status === 'ACTIVE' ? undefined : session;
  };
  const timeoutSignal = AbortSignal.timeout(interruptTimeoutMs);
  try {
    const tail = await ports.eventLog.tail(streamOf({ tenantId, id }), { after: 'now' }, timeoutSignal);
    const endedBefore = await find();
    if (endedBefore) return endedBefore;
    for await (const entries of tail) {
      const items = entries.map((entry) => itemOf(sessionEventType, entry));
      if (items.some((item) => item?.kind === 'event' && item.event.kind?.$case === 'sessionStatusChanged')) break;
    }
  } catch (error) {
    if (!isDomainError(error, 'unavailable')) throw error;
    ports.log.warn({ err: error, sessionId: id }, 'event log unavailable; polling for the end of the session');
  }
  for (;;) {
    const session = await find();
    if (session || timeoutSignal.aborted) return session;
    await delay(pollMs);
  }
}

async function forceEnd(ports: Ports, { tenantId, id }: Session, status: EndStatus): Promise<Session> {
  const log = sessionLog(ports.eventLog, { tenantId, id }, ports.log);
  const begun = await ports.database.transact(tenantId, async (db) => {
    const { lastEventId } = await sessionStore(db).get(id);
    const [first] = await turnStore(db).listOpen(id);
    return first && { turn: first, lastEventId };
  });
  // The event log is read outside the transaction that locks the session, because the log may be slow or unavailable.
  const streamed = begun ? await log.cutReply(begun.turn, begun.lastEventId) : nothingStreamed;
  const end = async (db: TenantDb) => {
    const session = await sessionStore(db).lock(id);
    if (session.status !== 'ACTIVE') return session;
    ports.log.warn({ sessionId: id }, 'running turn did not end in time; ending it with its session');
    const [turn] = await turnStore(db).listOpen(id);
    if (!turn) return commitSessionEnd(ports, db, session, status);
    // The session has not ended, so the turn that was read before this transaction is still running.
    await interruptTurn(ports, db, {
      session: { ...session, endingAs: session.endingAs ?? status },
      turn,
      log,
      streamed,
    });
    return sessionStore(db).get(id);
  };
  return ports.database.transact(tenantId, end, { lockQueue: lockQueueOf({ tenantId, sessionId: id }) });
}
