import type { TenantDb } from '@parley/postgres/database/types';
import { jobs } from '@parley/postgres/jobs/jobs';
import { outbox } from '@parley/postgres/outbox/outbox';
import { SessionEnded } from '@parley/protos/parley/session/v1/events';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import { eventStore } from './event-store.ts';
import type { Ports } from './ports.ts';
import type { EndStatus, Session } from './session.ts';
import { failedEvent, statusEvent } from './session-event.ts';
import { sessionLog } from './session-log.ts';
import { sessionStore } from './session-store.ts';
import { turnFailure } from './turn-failure.ts';
import { turnKind } from './turn-job.ts';
import { turnStore } from './turn-store.ts';

export const expiryKind = 'session.expiry';

/**
 * Stores the end of a session. The transaction must have locked the session's row and ended its running turn, so that
 * the evaluated transcript is complete.
 */
export async function commitSessionEnd(
  ports: Ports,
  db: TenantDb,
  session: Session,
  status: EndStatus,
): Promise<Session> {
  const log = sessionLog(ports.eventLog, session, ports.log);
  const key = String(session.id);
  await jobs(db).removeQueued(turnKind, key);
  await jobs(db).removeQueued(expiryKind, key);
  const open = await turnStore(db).listOpen(session.id);

  const eventIds = await log.reserve(open.length + 1, session.lastEventId);
  const events: SessionEvent[] = [];
  const nextId = () => {
    const eventId = eventIds[events.length];
    if (eventId === undefined) throw new Error('the event log reserved too few ids');
    return eventId;
  };
  for (const turn of open) {
    const eventId = nextId();
    const failure = turnFailure('SESSION_ENDED');
    const occurredAt = await turnStore(db).fail(session.id, turn.id, failure, eventId);
    events.push(failedEvent({ eventId, sessionId: session.id, occurredAt }, turn, failure));
  }
  const eventId = nextId();
  const occurredAt = await eventStore(db).insert(session.id, eventId, { status });
  events.push(statusEvent({ eventId, sessionId: session.id, occurredAt }, status));
  await sessionStore(db).recordLastEvent(session.id, eventId);
  const ended = await sessionStore(db).end(session.id, status);

  if (ended.judged) {
    const { agentId } = ended;
    const endedAt = ended.endedAt ?? undefined;
    const data = SessionEnded.encode({ sessionId: ended.id, agentId, status, endedAt }).finish();
    await outbox(db).append({ topic: 'session-ended', type: 'session.ended.v1', key, data });
  }
  db.afterCommit(() => void log.publish(events).then(() => ports.announceEnd(ended.id)));
  return ended;
}
