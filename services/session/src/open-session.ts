import { inNoTenant } from '@parley/kernel/caller';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { onceUnder } from '@parley/postgres/committed-keys';
import type { TenantDb } from '@parley/postgres/database/types';
import { jobs } from '@parley/postgres/jobs/jobs';
import { tenantTombstones } from '@parley/postgres/tenant-tombstones';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import { expiryKind } from './commit-session-end.ts';
import { eventStore } from './event-store.ts';
import { maxDelayMs } from './expire-session.ts';
import { messageStore } from './message-store.ts';
import { contextTokens } from './message-tokens.ts';
import type { Ports } from './ports.ts';
import type { Session } from './session.ts';
import { replyEvent, statusEvent } from './session-event.ts';
import { sessionLog } from './session-log.ts';
import { type NewSession, sessionStore } from './session-store.ts';
import { type TurnJob, turnKind } from './turn-job.ts';
import { turnStore } from './turn-store.ts';

/** The agent's first message: a fixed text, which may be empty, or a text that a model generates as the session's first turn. */
export type Opening = { kind: 'text'; text: string } | { kind: 'turn' };

/**
 * Starts a session. Its first message or turn is stored in the same transaction. If an earlier call with the same effect key has started a
 * session, returns that session.
 * @throws DomainError `forbidden` with reason `NO_TENANT` if the tenant was just deleted
 */
export async function openSession(
  ports: Ports,
  request: TenantRequest,
  given: NewSession,
  opening: Opening,
): Promise<Session> {
  const { tenantId, requestId } = request.caller;

  async function start(db: TenantDb): Promise<string> {
    await tenantTombstones(db).lockShared();
    const created = await sessionStore(db).insert(given);
    if (!created) throw inNoTenant();
    const log = sessionLog(ports.eventLog, created, ports.log);
    const greeting = opening.kind === 'text' ? opening.text : '';
    const [activeId, greetingId] = await log.reserve(greeting === '' ? 1 : 2, created.lastEventId);
    if (activeId === undefined) throw new Error('the event log reserved nothing');

    const occurredAt = await eventStore(db).insert(created.id, activeId, { status: 'ACTIVE' });
    const events: SessionEvent[] = [statusEvent({ eventId: activeId, sessionId: created.id, occurredAt }, 'ACTIVE')];
    if (greetingId !== undefined) {
      const message = await messageStore(db).insertGreeting(created.id, greeting, contextTokens(greeting));
      const header = { eventId: greetingId, sessionId: created.id };
      const greetedAt = await eventStore(db).insert(created.id, greetingId, { messageId: message.id });
      events.push(
        replyEvent({ ...header, occurredAt: greetedAt }, { turnIndex: 0, clientTurnId: null }, message, false),
      );
    }
    await sessionStore(db).recordLastEvent(created.id, greetingId ?? activeId);
    if (opening.kind === 'turn') await openTurn(db, { ...created, lastEventId: activeId });
    const delayMs = Math.min(ports.settings.idleMs, ports.settings.maxAgeMs, maxDelayMs);
    await jobs(db).append({ kind: expiryKind, key: String(created.id), data: { sessionId: created.id }, delayMs });
    db.afterCommit(() => void log.publish(events));
    return String(created.id);
  }

  async function openTurn(db: TenantDb, session: Session): Promise<void> {
    const prepared = await turnStore(db).insertOpening(session);
    const data: TurnJob = { sessionId: session.id, turnId: prepared.id, requestId };
    await jobs(db).append({ kind: turnKind, key: String(session.id), data, prepared });
  }

  return ports.database.transact(tenantId, async (db) => {
    const id = await onceUnder(db, request, () => start(db));
    return sessionStore(db).get(Number(id));
  });
}
