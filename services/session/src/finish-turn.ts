import { setTimeout as delay } from 'node:timers/promises';
import { isDomainError } from '@parley/kernel/errors';
import { compareEventIds, type EventId } from '@parley/live/event-log/event-id';
import type { TenantDb } from '@parley/postgres/database/types';
import type { TenantJob } from '@parley/postgres/jobs/job-rows';
import { JobHandover, LeaseLost } from '@parley/postgres/jobs/job-signals';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import { noUsage } from '@parley/protos/turn-usage';
import { commitSessionEnd } from './commit-session-end.ts';
import { eventStore } from './event-store.ts';
import { interruptedReply, type PartialReply } from './interrupted-reply.ts';
import type { Ports } from './ports.ts';
import type { Session } from './session.ts';
import { failedEvent, replyEvent } from './session-event.ts';
import { nothingStreamed, type SessionLog, type StreamedReply, sessionLog } from './session-log.ts';
import { type TurnFailure, turnFailure } from './turn-failure.ts';
import type { TurnJob, TurnRun } from './turn-job.ts';
import { type OpenTurn, type PreparedTurn, type Reply, turnStore } from './turn-store.ts';

/** A failure includes the partial reply, which is stored if the turn was interrupted before the failure. */
export type TurnOutcome =
  | { kind: 'reply'; reply: Reply }
  | { kind: 'interrupted'; partial: PartialReply }
  | { kind: 'failure'; failure: TurnFailure; partial: PartialReply };

const databasePauseMs = 250;

/**
 * Ends a turn and its job in one transaction.
 * @param log the log to which the attempt wrote the reply's chunks, because the final event needs a higher id than these chunks
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
  for (let mayStoreAtOnce = true; ; ) {
    try {
      const end = async (db: TenantDb): Promise<SessionEvent | undefined> => {
        if (mayStoreAtOnce && outcome.kind === 'reply' && eventId !== undefined) {
          // Storing the reply and completing the job are sent together. The reply is stored first, because accepting a message also locks
          // the session before the job; the same order prevents deadlocks.
          const storing = storeAtOnce(db, turn, outcome.reply, eventId, log);
          const [isStored] = await Promise.all([storing, run.lease.complete(db)]);
          if (!isStored) throw new NotAtOnce();
          return undefined;
        }
        const found = await turnStore(db).lock(turn.id);
        if (!found?.open) return eventStore(db).findOfTurn(turn.id);
        const { session, interrupted } = found;
        await endTurn(ports, db, { session, turn, log, eventId, outcome, interrupted });
        await run.lease.complete(db);
        return undefined;
      };
      const before = await ports.database.transact(run.tenantId, end, { isUrgent: true });
      // The turn had already ended: by an earlier try whose response was lost, or with the session. Its event may not
      // have been published.
      if (before) await log.publish([before]);
      return;
    } catch (error) {
      // `LeaseLost` means that this process no longer holds the job, perhaps because an earlier try ended this turn. The next try first
      // checks whether the turn has ended.
      if (mayStoreAtOnce && (error instanceof NotAtOnce || error instanceof LeaseLost)) {
        mayStoreAtOnce = false;
        continue;
      }
      // After `leaseMs` the lease has expired, and another process makes the next attempt.
      const mayRetry = isDomainError(error, 'unavailable') && performance.now() - beganMs < ports.settings.leaseMs;
      if (!mayRetry || isNoLongerHolder(run.signal)) throw error;
      await delay(databasePauseMs, undefined, { ref: false });
    }
  }
}

/** Thrown if ending the turn needs more than storing its reply. Nothing has changed then. */
class NotAtOnce extends Error {}

async function storeAtOnce(
  db: TenantDb,
  turn: PreparedTurn,
  reply: Reply,
  eventId: EventId,
  log: SessionLog,
): Promise<boolean> {
  const { sessionId } = turn;
  const message = await turnStore(db).storeReplyUnlocked(sessionId, turn, reply, eventId);
  if (!message) return false;
  const event = replyEvent({ eventId, sessionId, occurredAt: message.createdAt }, turn, message, false);
  db.afterCommit(() => void log.publish([event]));
  return true;
}

/**
 * Returns the streamed part of a turn's reply. The turn is about to end, and no process runs it any more. Do not call this in a
 * transaction, because it reads the event log.
 */
export async function streamedReplyOfTurn(
  ports: Ports,
  { data, tenantId }: Pick<TenantJob<TurnJob>, 'data' | 'tenantId'>,
): Promise<StreamedReply> {
  const found = await ports.database.transact(tenantId, (db) => turnStore(db).lock(data.turnId));
  if (!found?.open) return nothingStreamed;
  const { session, turn } = found;
  return sessionLog(ports.eventLog, session, ports.log).cutReply(turn, session.lastEventId);
}

/**
 * Ends a turn whose attempts are used up: as interrupted if its interruption was requested, otherwise as failed. Runs in the transaction
 * that removes the turn's job.
 */
export async function endExhaustedTurn(
  ports: Ports,
  db: TenantDb,
  { data }: TenantJob<TurnJob>,
  { error, streamed }: { error: unknown; streamed: StreamedReply },
): Promise<void> {
  const found = await turnStore(db).lock(data.turnId);
  if (!found?.open) return;
  const { session, turn } = found;
  const log = sessionLog(ports.eventLog, session, ports.log);
  const failure = turnFailure(error instanceof LeaseLost ? 'TURN_LOST' : 'INTERNAL');
  if (session.endingAs || found.interrupted) {
    await interruptTurn(ports, db, { session, turn, log, streamed });
  } else {
    const failed = { failure, partial: unbilledPart(streamed) };
    const events = [await failTurn(ports, db, { session, turn, log, eventId: undefined }, failed)];
    db.afterCommit(() => void log.publish(events));
  }
}

function unbilledPart(streamed: StreamedReply): PartialReply {
  return { ...streamed, structuredContent: null, usage: noUsage, isBilled: false };
}

export async function interruptTurn(
  ports: Ports,
  db: TenantDb,
  { streamed, ...about }: Pick<TurnEnd, 'session' | 'turn' | 'log'> & { streamed: StreamedReply },
) {
  await endTurn(ports, db, {
    ...about,
    eventId: undefined,
    outcome: { kind: 'interrupted', partial: unbilledPart(streamed) },
    interrupted: true,
  });
}

interface TurnEnd {
  /** The session, whose row the transaction has locked. */
  session: Session;
  turn: OpenTurn;
  log: SessionLog;
  /** The id of the final event, if one was reserved before the transaction. If undefined, the transaction reserves an id. */
  eventId: EventId | undefined;
  outcome: TurnOutcome;
  interrupted: boolean;
}

async function endTurn(ports: Ports, db: TenantDb, turnEnd: TurnEnd): Promise<void> {
  const { session, turn, log, outcome } = turnEnd;
  const interrupted = turnEnd.interrupted || session.endingAs !== null;
  const events: SessionEvent[] = [];
  if (outcome.kind === 'failure' && !interrupted) {
    events.push(await failTurn(ports, db, turnEnd, outcome));
  } else {
    const reply =
      outcome.kind === 'reply'
        ? { ...outcome.reply, interrupted }
        : await interruptedReply(ports, db, { session, turn, partial: outcome.partial });
    const eventId = await usableId(log, session, turnEnd.eventId);
    const message = await turnStore(db).storeReply(session.id, turn, reply, eventId);
    const header = { eventId, sessionId: session.id, occurredAt: message.createdAt };
    events.push(replyEvent(header, turn, message, reply.interrupted));
  }
  db.afterCommit(() => void log.publish(events));
  if (session.endingAs) {
    const lastEventId = events[0]?.eventId ?? session.lastEventId;
    await commitSessionEnd(ports, db, { ...session, lastEventId }, session.endingAs);
  }
}

/** Ends a turn as failed. If text was shown, it is stored as an interrupted reply, with the usage of the whole reply. */
async function failTurn(
  ports: Ports,
  db: TenantDb,
  { session, turn, log, eventId: reserved }: Pick<TurnEnd, 'session' | 'turn' | 'log' | 'eventId'>,
  { failure, partial }: { failure: TurnFailure; partial: PartialReply },
): Promise<SessionEvent> {
  if (partial.text !== '') {
    const reply = await interruptedReply(ports, db, { session, turn, partial });
    await turnStore(db).keepWords(session.id, turn, reply);
  }
  const eventId = await usableId(log, session, reserved);
  const occurredAt = await turnStore(db).fail(session.id, turn.id, failure, eventId);
  return failedEvent({ eventId, sessionId: session.id, occurredAt }, turn, failure);
}

/**
 * Returns the reserved id if it is still usable, otherwise a new one. An id that was reserved before the session's row was locked may be
 * too low, because an event with a higher id may have been stored since.
 */
async function usableId(log: SessionLog, session: Session, reserved: EventId | undefined): Promise<EventId> {
  if (reserved !== undefined && compareEventIds(reserved, session.lastEventId) > 0) return reserved;
  const [eventId] = await log.reserve(1, session.lastEventId);
  if (eventId === undefined) throw new Error('the event log reserved nothing');
  return eventId;
}

function isNoLongerHolder({ reason }: AbortSignal): boolean {
  return reason instanceof LeaseLost || reason instanceof JobHandover;
}
