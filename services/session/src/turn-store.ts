import type { TenantDb } from '@parley/chassis/database/types';
import { eventIdParts, formatEventId } from '@parley/chassis/event-log/event-id';
import { type MessageRow, messageFromRow } from './message-store.ts';
import type { Message, MessageRole, Session } from './session.ts';
import { type SessionRow, fromRow as sessionFromRow } from './session-store.ts';
import { contextTokens } from './tokens.ts';
import type { TurnFailure } from './turn-failure.ts';

/** No model is sent more messages than this, however short they are. */
const historyMessages = 200;

export interface NewTurn {
  sessionId: number;
  text: string;
  clientTurnId: string | undefined;
  testDraft: boolean;
}

/** A message and the turn that it opens. */
export interface AcceptedTurn {
  session: Session;
  turnId: number;
  turnIndex: number;
}

/** A turn without its end. */
export interface OpenTurn {
  id: number;
  turnIndex: number;
  clientTurnId: string | undefined;
}

/** What whoever holds a turn needs in order to have it answered. */
export interface PreparedTurn extends OpenTurn {
  sessionId: number;
  agentId: number;
  testDraft: boolean;
  /** The newest event of the session that the database holds: ids of this turn's events come after it. */
  lastEventId: string;
  /** Oldest first, bounded, ends with the message to answer. */
  history: { role: MessageRole; text: string }[];
  historyTokens: number;
}

export interface Reply {
  text: string;
  tokensIn: number;
  tokensOut: number;
  /** In 1e-8 USD. */
  costUsdE8: bigint;
  /** The size of the context that was sent. */
  contextTokens: number;
  interrupted: boolean;
}

export function turnStore({ knex, tenantId }: TenantDb) {
  return {
    /**
     * Stores a USER message, its number given under the session's row lock, and the turn that it opens. Undefined when the
     * session is not there or takes no messages.
     */
    async accept({ sessionId, text, clientTurnId, testDraft }: NewTurn): Promise<AcceptedTurn | undefined> {
      const { rows }: { rows: (SessionRow & { turn_id: number; turn_index: number })[] } = await knex.raw(
        `WITH session AS (
           UPDATE sessions SET next_turn_index = next_turn_index + 1, last_event_at = parley_now(), updated_at = parley_now()
            WHERE id = :sessionId AND tenant_id = :tenantId AND status = 'ACTIVE' AND ending_as IS NULL RETURNING *
         ), message AS (
           INSERT INTO messages (tenant_id, session_id, role, text, turn_index, exchange_index, token_estimate)
           SELECT tenant_id, id, 'USER', :text, next_turn_index - 1, next_turn_index - 1, :tokens FROM session
         ), turn AS (
           INSERT INTO turns (tenant_id, session_id, turn_index, client_turn_id, test_draft, state)
           SELECT tenant_id, id, next_turn_index - 1, :clientTurnId, :testDraft, 'QUEUED' FROM session RETURNING id, turn_index
         )
         SELECT session.*, turn.id AS turn_id, turn.turn_index FROM session, turn`,
        { tenantId, sessionId, text, clientTurnId: clientTurnId ?? null, testDraft, tokens: contextTokens(text) },
      );
      const [row] = rows;
      return row && { session: sessionFromRow(row), turnId: row.turn_id, turnIndex: row.turn_index };
    },

    /**
     * Notes that an attempt begins, and reads all that it needs: one statement, within the transaction that claims the turn.
     * The history is the newest part of the session's exchanges that fits into `historyTokens`, read by one index range that
     * is as long for ten thousand messages as for two hundred. Undefined when the turn has ended.
     */
    async prepare(turnId: number, attempt: number, historyTokens: number): Promise<PreparedTurn | undefined> {
      const { rows } = await knex.raw(
        `WITH turn AS (
           UPDATE turns SET state = 'RUNNING', attempt = :attempt
            WHERE id = :turnId AND tenant_id = :tenantId AND state IN ('QUEUED', 'RUNNING') RETURNING *
         )
         SELECT turn.*, session.agent_id, session.last_event_ms, session.last_event_n, history.messages, history.tokens
           FROM turn JOIN sessions AS session ON session.tenant_id = turn.tenant_id AND session.id = turn.session_id
           CROSS JOIN LATERAL (
             SELECT json_agg(json_build_object('role', role, 'text', text) ORDER BY exchange_index, role DESC) AS messages,
                    cast(sum(token_estimate) AS integer) AS tokens
               FROM (
                 SELECT role, text, exchange_index, token_estimate,
                        sum(token_estimate) OVER (ORDER BY exchange_index DESC, role) AS total
                   FROM (
                     SELECT * FROM messages
                      WHERE messages.tenant_id = :tenantId AND messages.session_id = turn.session_id
                        AND exchange_index <= turn.turn_index
                      ORDER BY exchange_index DESC, role LIMIT ${historyMessages}
                   ) AS newest
               ) AS bounded
              WHERE total <= :historyTokens OR exchange_index = turn.turn_index
           ) AS history`,
        { tenantId, turnId, attempt, historyTokens },
      );
      const row = rows[0];
      return (
        row && {
          ...openTurnFromRow(row),
          sessionId: row.session_id,
          agentId: row.agent_id,
          testDraft: row.test_draft,
          lastEventId: formatEventId({ ms: Number(row.last_event_ms), n: Number(row.last_event_n) }),
          history: row.messages,
          historyTokens: row.tokens,
        }
      );
    },

    /** A turn and its session as they are now, both kept from changing; `open` while the turn has no end. */
    async lock(turnId: number): Promise<{ session: Session; interrupted: boolean; open: boolean } | undefined> {
      const { rows } = await knex.raw(
        `SELECT session.*, turn.state AS turn_state, turn.interrupted FROM sessions AS session
           JOIN turns AS turn ON turn.tenant_id = session.tenant_id AND turn.session_id = session.id
          WHERE turn.id = :turnId AND turn.tenant_id = :tenantId AND session.tenant_id = :tenantId FOR UPDATE`,
        { tenantId, turnId },
      );
      const row = rows[0];
      const open = row?.turn_state === 'QUEUED' || row?.turn_state === 'RUNNING';
      return row && { session: sessionFromRow(row), interrupted: row.interrupted, open };
    },

    /** Turns without an end, in order. The first of them is the one that runs, if one does. */
    async listOpen(sessionId: number): Promise<OpenTurn[]> {
      const { rows } = await knex.raw(
        `SELECT id, turn_index, client_turn_id FROM turns
          WHERE session_id = :sessionId AND tenant_id = :tenantId AND state IN ('QUEUED', 'RUNNING') ORDER BY turn_index`,
        { tenantId, sessionId },
      );
      return rows.map(openTurnFromRow);
    },

    /** Notes on the session's first open turn that somebody wants no more of it. */
    async interruptFirst(sessionId: number): Promise<void> {
      await knex.raw(
        `UPDATE turns SET interrupted = true WHERE tenant_id = :tenantId AND id = (
           SELECT id FROM turns WHERE session_id = :sessionId AND tenant_id = :tenantId AND state IN ('QUEUED', 'RUNNING')
            ORDER BY turn_index LIMIT 1)`,
        { tenantId, sessionId },
      );
    },

    /**
     * Stores the MODEL message and ends the turn with it: message, turn, session and event in one statement. The session's row
     * is locked by now (`lock`), and the turn open.
     */
    async storeReply(
      sessionId: number,
      turn: Pick<OpenTurn, 'id' | 'turnIndex'>,
      reply: Reply,
      eventId: string,
    ): Promise<Message> {
      const { rows }: { rows: MessageRow[] } = await knex.raw(
        `WITH message AS (
           INSERT INTO messages (tenant_id, session_id, role, text, turn_index, exchange_index, tokens_in, tokens_out, cost_usd,
                                 token_estimate)
           SELECT tenant_id, id, 'MODEL', :text, next_turn_index, :turnIndex, :tokensIn, :tokensOut,
                  cast(:costUsdE8 AS numeric) / 100000000, :tokens
             FROM sessions WHERE id = :sessionId AND tenant_id = :tenantId RETURNING *
         ), turn AS (
           UPDATE turns SET state = 'DONE', interrupted = :interrupted, finished_at = parley_now()
            WHERE id = :turnId AND tenant_id = :tenantId
         ), event AS (
           INSERT INTO events (tenant_id, session_id, event_ms, event_n, turn_id, message_id, occurred_at)
           SELECT tenant_id, session_id, :ms, :n, :turnId, id, created_at FROM message
         ), session AS (
           UPDATE sessions SET next_turn_index = next_turn_index + 1, total_tokens_in_context = :contextTokens,
                  last_event_ms = :ms, last_event_n = :n, last_event_at = parley_now(), updated_at = parley_now()
            WHERE id = :sessionId AND tenant_id = :tenantId
         )
         SELECT * FROM message`,
        {
          ...eventIdParts(eventId),
          tenantId,
          sessionId,
          turnId: turn.id,
          turnIndex: turn.turnIndex,
          text: reply.text,
          tokens: contextTokens(reply.text),
          tokensIn: reply.tokensIn,
          tokensOut: reply.tokensOut,
          costUsdE8: reply.costUsdE8.toString(),
          contextTokens: reply.contextTokens,
          interrupted: reply.interrupted,
        },
      );
      const [row] = rows;
      if (!row) throw new Error(`session ${sessionId} is gone while turn ${turn.id} runs`);
      return messageFromRow(row);
    },

    /** Ends a turn without a reply, with its event, and answers when. */
    async fail(sessionId: number, turnId: number, failure: TurnFailure, eventId: string): Promise<Date> {
      const { rows } = await knex.raw(
        `WITH turn AS (
           UPDATE turns SET state = 'FAILED', failure_code = :code, failure_message = :message, finished_at = parley_now()
            WHERE id = :turnId AND tenant_id = :tenantId RETURNING tenant_id, session_id, id, finished_at
         ), session AS (
           UPDATE sessions SET last_event_ms = :ms, last_event_n = :n, last_event_at = parley_now(), updated_at = parley_now()
            WHERE id = :sessionId AND tenant_id = :tenantId
         )
         INSERT INTO events (tenant_id, session_id, event_ms, event_n, turn_id, occurred_at)
         SELECT tenant_id, session_id, :ms, :n, id, finished_at FROM turn RETURNING occurred_at`,
        { ...eventIdParts(eventId), tenantId, sessionId, turnId, code: failure.code, message: failure.message },
      );
      return rows[0].occurred_at;
    },
  };
}

function openTurnFromRow(row: { id: number; turn_index: number; client_turn_id: string | null }): OpenTurn {
  return { id: row.id, turnIndex: row.turn_index, clientTurnId: row.client_turn_id ?? undefined };
}
