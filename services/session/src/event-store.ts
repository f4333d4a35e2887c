import { type EventId, eventIdParts } from '@parley/live/event-log/event-id';
import { columnsOf } from '@parley/postgres/database/table';
import type { TenantDb } from '@parley/postgres/database/types';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import { type Message, messages, type SessionStatus } from './session.ts';
import { failedEvent, replyEvent, statusEvent } from './session-event.ts';
import type { TurnFailureCode } from './turn-failure.ts';

const messageColumns = columnsOf(messages, 'message');

export function eventStore({ knex, tenantId }: TenantDb) {
  async function select(condition: string, values: Record<string, number>): Promise<SessionEvent[]> {
    const { rows }: { rows: EventRow[] } = await knex.raw(
      `SELECT ${messageColumns},
              event.event_ms || '-' || event.event_n AS event_id, event.occurred_at, event.session_id AS event_session_id, event.status,
              turn.turn_index AS answered_index, turn.client_turn_id, turn.interrupted, turn.failure_code, turn.failure_message
         FROM events AS event
         LEFT JOIN messages AS message ON message.tenant_id = event.tenant_id AND message.id = event.message_id
         LEFT JOIN turns AS turn ON turn.tenant_id = event.tenant_id AND turn.id = event.turn_id
        WHERE event.tenant_id = :tenantId AND ${condition}`,
      { tenantId, ...values },
    );
    return rows.map(eventFromRow);
  }

  return {
    /**
     * Returns at most `limit` of the session's events, in order of their ids. The ids are greater than `after`, and not greater than
     * `upTo`.
     */
    async list(sessionId: number, { after, upTo, limit }: { after: EventId; upTo: EventId; limit: number }) {
      const from = eventIdParts(after);
      const to = eventIdParts(upTo);
      return select(
        `event.session_id = :sessionId AND (event.event_ms, event.event_n) > (:fromMs, :fromN)
           AND (event.event_ms, event.event_n) <= (:toMs, :toN) ORDER BY event.event_ms, event.event_n LIMIT :limit`,
        { sessionId, fromMs: from.ms, fromN: from.n, toMs: to.ms, toN: to.n, limit },
      );
    },

    async findOfTurn(turnId: number): Promise<SessionEvent | undefined> {
      const [event] = await select('event.turn_id = :turnId', { turnId });
      return event;
    },

    /** Stores an event that belongs to no turn: a greeting or a change of status. Returns the event's time. */
    async insert(
      sessionId: number,
      eventId: EventId,
      of: { messageId?: number; status?: SessionStatus },
    ): Promise<Date> {
      const { rows } = await knex.raw(
        `INSERT INTO events (tenant_id, session_id, event_ms, event_n, message_id, status)
         VALUES (:tenantId, :sessionId, :ms, :n, :messageId, :status) RETURNING occurred_at`,
        { ...eventIdParts(eventId), tenantId, sessionId, messageId: of.messageId ?? null, status: of.status ?? null },
      );
      return rows[0].occurredAt;
    },
  };
}

type EventRow = (Message | { id: null }) & {
  eventId: EventId;
  occurredAt: Date;
  eventSessionId: number;
  status: SessionStatus | null;
  answeredIndex: number | null;
  clientTurnId: string | null;
  interrupted: boolean | null;
  failureCode: TurnFailureCode | null;
  failureMessage: string | null;
};

function eventFromRow(row: EventRow): SessionEvent {
  const { eventId, occurredAt, eventSessionId, status, answeredIndex, clientTurnId, ...rest } = row;
  const { interrupted, failureCode, failureMessage, ...message } = rest;
  const header = { eventId, sessionId: eventSessionId, occurredAt };
  const turn = { turnIndex: answeredIndex ?? 0, clientTurnId };
  if (message.id !== null) return replyEvent(header, turn, message, interrupted === true);
  if (failureCode) return failedEvent(header, turn, { code: failureCode, message: failureMessage ?? '' });
  if (status) return statusEvent(header, status);
  throw new Error(`event ${eventId} of session ${eventSessionId} says nothing`);
}
