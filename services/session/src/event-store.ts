import type { TenantDb } from '@parley/chassis/database/types';
import { type EventId, eventIdParts, formatEventId } from '@parley/chassis/event-log/event-id';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import { messageFromRow } from './message-store.ts';
import type { SessionStatus } from './session.ts';
import { failedEvent, replyEvent, statusEvent } from './session-event.ts';
import type { TurnFailureCode } from './turn-failure.ts';

/** The events that last, as they are given to readers. */
export function eventStore({ knex, tenantId }: TenantDb) {
  async function select(condition: string, values: Record<string, number>): Promise<SessionEvent[]> {
    const { rows }: { rows: EventRow[] } = await knex.raw(
      `SELECT event.event_ms, event.event_n, event.occurred_at, event.session_id, event.status, to_json(message) AS message,
              message.cost_usd, message.created_at, message.updated_at,
              turn.turn_index, turn.client_turn_id, turn.interrupted, turn.failure_code, turn.failure_message
         FROM events AS event
         LEFT JOIN messages AS message ON message.tenant_id = event.tenant_id AND message.id = event.message_id
         LEFT JOIN turns AS turn ON turn.tenant_id = event.tenant_id AND turn.id = event.turn_id
        WHERE event.tenant_id = :tenantId AND ${condition}`,
      { tenantId, ...values },
    );
    return rows.map(eventFromRow);
  }

  return {
    /** At most `limit` after one id and up to another, in order. */
    async list(sessionId: number, { after, upTo, limit }: { after: EventId; upTo: EventId; limit: number }) {
      const from = eventIdParts(after);
      const to = eventIdParts(upTo);
      return select(
        `event.session_id = :sessionId AND (event.event_ms, event.event_n) > (:fromMs, :fromN)
           AND (event.event_ms, event.event_n) <= (:toMs, :toN) ORDER BY event.event_ms, event.event_n LIMIT :limit`,
        { sessionId, fromMs: from.ms, fromN: from.n, toMs: to.ms, toN: to.n, limit },
      );
    },

    /** The event that ended a turn. */
    async findOfTurn(turnId: number): Promise<SessionEvent | undefined> {
      const [event] = await select('event.turn_id = :turnId', { turnId });
      return event;
    },

    /** An event that belongs to no turn: a greeting or a change of status. Answers when it happened. */
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
      return rows[0].occurred_at;
    },
  };
}

interface EventRow {
  event_ms: string;
  event_n: string;
  occurred_at: Date;
  session_id: number;
  status: SessionStatus | null;
  message: Parameters<typeof messageFromRow>[0] | null;
  cost_usd: string;
  created_at: Date;
  updated_at: Date;
  turn_index: number | null;
  client_turn_id: string | null;
  interrupted: boolean | null;
  failure_code: TurnFailureCode | null;
  failure_message: string | null;
}

function eventFromRow(row: EventRow): SessionEvent {
  const about = {
    eventId: formatEventId({ ms: Number(row.event_ms), n: Number(row.event_n) }),
    sessionId: row.session_id,
    occurredAt: row.occurred_at,
  };
  const turn = { turnIndex: row.turn_index ?? 0, clientTurnId: row.client_turn_id ?? undefined };
  if (row.message) {
    const { cost_usd, created_at, updated_at } = row; // as the driver reads them, not as JSON writes them
    const message = messageFromRow({ ...row.message, cost_usd, created_at, updated_at });
    return replyEvent(about, turn, message, row.interrupted === true);
  }
  if (row.failure_code) return failedEvent(about, turn, { code: row.failure_code, message: row.failure_message ?? '' });
  if (row.status) return statusEvent(about, row.status);
  throw new Error(`event ${about.eventId} of session ${about.sessionId} says nothing`);
}
