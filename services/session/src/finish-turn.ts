import { setTimeout as delay } from 'node:timers/promises';
import { isDomainError } from '@parley/kernel/errors';
import { compareEventIds, type EventId } from '@parley/live/event-log/event-id';
import type { TenantDb } from '@parley/postgres/database/types';
import { JobHandover, LeaseLost } from '@parley/postgres/jobs/job-signals';
import type { TenantJob } from '@parley/postgres/jobs/job-types';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import { concludeSession } from './conclude-session.ts';
import { type CutText, cutReply } from './cut-reply.ts';
import { eventStore } from './event-store.ts';
import type { Ports } from './ports.ts';
import type { Session } from './session.ts';
import { failedEvent, replyEvent } from './session-event.ts';
import { readShown, type SessionLog, sessionLog } from './session-log.ts';
import { type TurnFailure, turnFailure } from './turn-failure.ts';
import type { TurnJob, TurnRun } from './turn-job.ts';
import { type OpenTurn, type PreparedTurn, type Reply, turnStore } from './turn-store.ts';

/** How an attempt went. A failure comes with what had been said, in case the turn turns out to have been cut. */
export type TurnOutcome =
  | { kind: 'reply'; reply: Reply }
  | { kind: 'cut'; said: CutText }
  | { kind: 'failure'; failure: TurnFailure; said: CutText };

const databasePauseMs = 250;

/**
 * Ends a turn: its message or its failure, its event, the session's figures and the job in one transaction, and with them the
 * session itself where somebody waits for that. While the database is away it is tried again for as long as the lease holds.
 * `log` is the attempt's: it knows the ids of the pieces that were shown, which the end has to follow.
 */
export async function finishTurn(
  ports: Ports,
  run: TurnRun,
  turn: PreparedTurn,
  outcome: TurnOutcome,
  log: SessionLog,
): Promise<void> {
  const [eventId] = await log.reserve(1, turn.lastEventId, { turnIndex: turn.turnIndex, attempt: run.attempt });
  const beganMs = performance.now();
  for (;;) {
    try {
      const before = await ports.database.transact(run.tenantId, async (db) => {
        const found = await turnStore(db).lock(turn.id);
        if (!found?.open) return eventStore(db).findOfTurn(turn.id);
        await endTurn(ports, db, { session: found.session, turn, log, eventId, outcome, cut: found.interrupted });
        await run.lease.complete(db);
        return undefined;
      });
      // It was ended by an earlier try whose answer got lost, or by whoever ended the session: perhaps without showing it.
      if (before) await log.publish([before]);
      return;
    } catch (error) {
      // After so long the lease has run out, since it could not be renewed either: somebody else begins anew.
      const mayRetry = isDomainError(error, 'unavailable') && performance.now() - beganMs < ports.settings.leaseMs;
      if (!mayRetry || isGivenUp(run.signal)) throw error;
      await delay(databasePauseMs, undefined, { ref: false });
    }
  }
}

/** What was shown of a turn that nobody is at any more. Reads the event log, so not within a transaction. */
export async function shownOfTurn(
  ports: Ports,
  { data, tenantId }: Pick<TenantJob<TurnJob>, 'data' | 'tenantId'>,
): Promise<string> {
  const turn = await ports.database.transact(tenantId, async (db) => {
    const found = await turnStore(db).lock(data.turnId);
    if (!found?.open) return undefined;
    const { id: sessionId, lastEventId } = found.session;
    const open = (await turnStore(db).listOpen(sessionId)).find(({ id }) => id === data.turnId);
    return open && { ...open, sessionId, lastEventId };
  });
  if (!turn) return '';
  return readShown(ports, sessionLog(ports.eventLog, { tenantId, id: turn.sessionId }, ports.log), turn);
}

/**
 * Records that a turn has failed for good without anybody who could finish it, or that it was cut with what was shown of it.
 * Runs where its job is removed.
 */
export async function giveUpTurn(
  ports: Ports,
  db: TenantDb,
  { data, tenantId }: TenantJob<TurnJob>,
  { error, shown }: { error: unknown; shown: string },
): Promise<void> {
  const found = await turnStore(db).lock(data.turnId);
  if (!found?.open) return;
  const { session } = found;
  const turn = (await turnStore(db).listOpen(session.id)).find(({ id }) => id === data.turnId);
  if (!turn) return;
  const log = sessionLog(ports.eventLog, { tenantId, id: session.id }, ports.log);
  const failure = turnFailure(error instanceof LeaseLost ? 'TURN_LOST' : 'INTERNAL');
  if (session.endingAs || found.interrupted) {
    await cutTurn(ports, db, { session, turn, log, shown });
  } else {
    const events = [await failTurn(db, { session, turn, log, failure, eventId: undefined })];
    db.afterCommit(() => void log.publish(events));
  }
}

/** Cuts a turn that nobody is at, with what was shown of it. Within a transaction that has locked the session. */
export async function cutTurn(
  ports: Ports,
  db: TenantDb,
  { shown, ...about }: Pick<Ending, 'session' | 'turn' | 'log'> & { shown: string },
) {
  const said = { text: shown, contextTokens: undefined };
  await endTurn(ports, db, { ...about, eventId: undefined, outcome: { kind: 'cut', said }, cut: true });
}

interface Ending {
  session: Session;
  turn: OpenTurn;
  log: SessionLog;
  /** Reserved beforehand. */
  eventId: EventId | undefined;
  outcome: TurnOutcome;
  /** Somebody has asked to cut it. */
  cut: boolean;
}

/** Within a transaction that has locked the session. */
async function endTurn(ports: Ports, db: TenantDb, ending: Ending): Promise<void> {
  const { session, turn, log, outcome } = ending;
  const cut = ending.cut || session.endingAs !== null;
  const events: SessionEvent[] = [];
  if (outcome.kind === 'failure' && !cut) {
    events.push(await failTurn(db, { session, turn, log, failure: outcome.failure, eventId: ending.eventId }));
  } else {
    const reply =
      outcome.kind === 'reply'
        ? { ...outcome.reply, interrupted: cut }
        : await cutReply(ports, db, { session, turn, said: outcome.said });
    const eventId = await usableId(log, session, ending.eventId);
    const message = await turnStore(db).storeReply(session.id, turn, reply, eventId);
    const about = { eventId, sessionId: session.id, occurredAt: message.createdAt };
    events.push(replyEvent(about, turn, message, reply.interrupted));
  }
  db.afterCommit(() => void log.publish(events));
  if (session.endingAs) {
    const lastEventId = events[0]?.eventId ?? session.lastEventId;
    await concludeSession(ports, db, { ...session, lastEventId }, session.endingAs);
  }
}

interface Failing {
  session: Session;
  turn: OpenTurn;
  log: SessionLog;
  failure: TurnFailure;
  eventId: EventId | undefined;
}

async function failTurn(
  db: TenantDb,
  { session, turn, log, failure, eventId: reserved }: Failing,
): Promise<SessionEvent> {
  const eventId = await usableId(log, session, reserved);
  const occurredAt = await turnStore(db).fail(session.id, turn.id, failure, eventId);
  return failedEvent({ eventId, sessionId: session.id, occurredAt }, turn, failure);
}

/** An id that was reserved before the session's row was locked may have been overtaken. */
async function usableId(log: SessionLog, session: Session, reserved: EventId | undefined): Promise<EventId> {
  if (reserved !== undefined && compareEventIds(reserved, session.lastEventId) > 0) return reserved;
  const [eventId] = await log.reserve(1, session.lastEventId);
  if (eventId === undefined) throw new Error('the event log reserved nothing');
  return eventId;
}

function isGivenUp({ reason }: AbortSignal): boolean {
  return reason instanceof LeaseLost || reason instanceof JobHandover;
}
