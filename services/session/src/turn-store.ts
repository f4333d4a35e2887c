import { type EventId, eventIdParts } from '@parley/live/event-log/event-id';
import { rowsBy } from '@parley/postgres/database/rows';
import { columnsOf } from '@parley/postgres/database/table';
import type { TenantDb } from '@parley/postgres/database/types';
import type { Citation } from '@parley/protos/parley/agent/v1/citations';
import type { VerifiedIdentity } from './embed/verified-identity.ts';
import { contextTokens } from './message-tokens.ts';
import {
  type FinishReason,
  lastEventIdSql,
  type Message,
  type MessageRole,
  messages,
  type Session,
  sessions,
} from './session.ts';
import type { EventTurn } from './session-event.ts';
import type { ToolCall } from './tool-call.ts';
import type { TurnFailure } from './turn-failure.ts';

const sessionColumns = columnsOf(sessions, 'session');
const messageColumns = columnsOf(messages, 'message');

const maxHistoryMessages = 200;

/**
 * Index of the turn in which the agent speaks first, without a message to answer. It is lower than every message's
 * index, so that the turn runs and is read first. Clients see 0.
 */
export const openingTurnIndex = -1;

export interface NewTurn {
  sessionId: number;
  text: string;
  clientTurnId: string | null;
  testDraft: boolean;
  historyTokens: number;
}

export interface AcceptedTurn {
  session: Session;
  turnId: number;
  turnIndex: number;
  /**
   * The result of `prepare`. Undefined if another turn is open, or if another message was stored while this message waited for the lock.
   */
  prepared: PreparedTurn | undefined;
}

export interface OpenTurn extends EventTurn {
  id: number;
}

export interface PreparedTurn extends OpenTurn {
  sessionId: number;
  agentId: number;
  clientExternalId: string;
  metadata: unknown;
  identity: VerifiedIdentity | null;
  startedAt: Date | null;
  testDraft: boolean;
  /** The id of the newest event in the database. The ids of this turn's events must be higher. */
  lastEventId: string;
  /** The newest messages of the session within its limit of tokens, oldest first. The last one is the message to answer. */
  history: { role: MessageRole; text: string }[];
  historyTokens: number;
}

export interface Reply {
  text: string;
  tokensIn: number;
  tokensOut: number;
  /** Cost of the reply, in units of 1e-8 USD. */
  costUsdE8: bigint;
  modelId: string | null;
  finishReason: FinishReason | null;
  tokensEstimated: boolean;
  /** 0 if no model was called; then the session's last context size is unchanged. */
  contextTokens: number;
  /** Null if no passages were searched. */
  citations: Citation[] | null;
  toolCalls: ToolCall[];
  /** A card, table or list; null if there is none. */
  structuredContent: unknown;
  interrupted: boolean;
}

type TurnOfReply = Pick<OpenTurn, 'id' | 'turnIndex'>;

export function turnStore({ knex, tenantId }: TenantDb) {
  const rows = rowsBy(knex);

  async function writeReply(
    sessionId: number,
    turn: TurnOfReply,
    reply: Reply,
    eventId: EventId,
    { isLocked }: { isLocked: boolean },
  ): Promise<Message | undefined> {
    const [message] = await rows<Message>(
      `WITH locked AS MATERIALIZED (
         SELECT session.tenant_id, session.id, session.next_turn_index
           FROM sessions AS session
           JOIN turns AS turn ON turn.tenant_id = session.tenant_id AND turn.session_id = session.id
          WHERE turn.id = :turnId AND turn.tenant_id = :tenantId AND session.id = :sessionId AND session.tenant_id = :tenantId
            AND (:isLocked OR turn.state IN ('QUEUED', 'RUNNING') AND NOT turn.interrupted AND session.ending_as IS NULL
              AND (session.last_event_ms, session.last_event_n) < (cast(:ms AS bigint), cast(:n AS bigint)))
            FOR UPDATE
       ), message AS (
         ${insertReplySql('locked', 'next_turn_index')} RETURNING *
       ), turn AS (
         UPDATE turns SET state = 'DONE', interrupted = :interrupted, finished_at = parley_now() FROM locked
          WHERE turns.id = :turnId AND turns.tenant_id = :tenantId
       ), event AS (
         INSERT INTO events (tenant_id, session_id, event_ms, event_n, turn_id, message_id, occurred_at)
         SELECT tenant_id, session_id, :ms, :n, :turnId, id, created_at FROM message
       ), session AS (
         UPDATE sessions SET next_turn_index = sessions.next_turn_index + 1,
                total_tokens_in_context = coalesce(nullif(cast(:contextTokens AS integer), 0), sessions.total_tokens_in_context),
                last_event_ms = :ms, last_event_n = :n, last_event_at = parley_now(), updated_at = parley_now()
           FROM locked WHERE sessions.id = :sessionId AND sessions.tenant_id = :tenantId
       )
       SELECT ${messageColumns} FROM message`,
      {
        ...eventIdParts(eventId),
        tenantId,
        sessionId,
        turnId: turn.id,
        ...replyValues(turn, reply),
        interrupted: reply.interrupted,
        isLocked,
      },
    );
    return message;
  }

  return {
    /**
     * Accepts a message as a new turn, which is RUNNING at once if no other turn is open. Returns undefined if the
     * session is absent or accepts no messages.
     */
    async accept({
      sessionId,
      text,
      clientTurnId,
      testDraft,
      historyTokens,
    }: NewTurn): Promise<AcceptedTurn | undefined> {
      const tokens = contextTokens(text);
      // The statement's snapshot may be older than the lock that it waited for. If `next_turn_index` has changed since the snapshot, other
      // messages were added in between.
      const [row] = await rows<Session & AcceptedRow>(
        `WITH session AS (
           UPDATE sessions SET next_turn_index = next_turn_index + 1, last_event_at = parley_now(), updated_at = parley_now()
            WHERE id = :sessionId AND tenant_id = :tenantId AND status = 'ACTIVE' AND ending_as IS NULL RETURNING *
         ), place AS (
           SELECT session.next_turn_index - 1 = seen.next_turn_index AND NOT EXISTS (
                    SELECT FROM turns WHERE turns.tenant_id = :tenantId AND turns.session_id = :sessionId
                       AND state IN ('QUEUED', 'RUNNING')
                  ) AS is_first
             FROM session JOIN sessions AS seen ON seen.id = session.id
         ), message AS (
           INSERT INTO messages (tenant_id, session_id, role, text, turn_index, exchange_index, token_estimate)
           SELECT tenant_id, id, 'USER', :text, next_turn_index - 1, next_turn_index - 1, :tokens FROM session
         ), turn AS (
           INSERT INTO turns (tenant_id, session_id, turn_index, client_turn_id, test_draft, state, attempt)
           SELECT tenant_id, id, next_turn_index - 1, :clientTurnId, :testDraft,
                  CASE WHEN is_first THEN 'RUNNING' ELSE 'QUEUED' END, CASE WHEN is_first THEN 1 ELSE 0 END
             FROM session, place RETURNING id, turn_index
         )
         SELECT ${sessionColumns}, turn.id AS turn_id, turn.turn_index, place.is_first,
                history.messages AS history, history.tokens AS history_tokens
           FROM session CROSS JOIN place CROSS JOIN turn CROSS JOIN LATERAL (
             ${historySql({
               sessionId: ':sessionId',
               where: 'place.is_first',
               limit: maxHistoryMessages - 1,
               fitting: 'total + cast(:tokens AS integer) <= cast(:historyTokens AS integer)',
             })}
           ) AS history`,
        { tenantId, sessionId, text, clientTurnId, testDraft, tokens, historyTokens },
      );
      if (!row) return undefined;
      const { turnId, turnIndex, isFirst, history, historyTokens: tokensBefore, ...session } = row;
      const { agentId, clientExternalId, metadata, identity, startedAt, lastEventId } = session;
      return {
        session,
        turnId,
        turnIndex,
        prepared: isFirst
          ? {
              id: turnId,
              turnIndex,
              clientTurnId,
              sessionId,
              agentId,
              clientExternalId,
              metadata,
              identity,
              startedAt,
              testDraft,
              lastEventId,
              history: [...(history ?? []), { role: 'USER', text }],
              historyTokens: (tokensBefore ?? 0) + tokens,
            }
          : undefined,
      };
    },

    /** Inserts a new session's first turn, the agent's greeting, as RUNNING. */
    async insertOpening({
      id: sessionId,
      agentId,
      clientExternalId,
      metadata,
      identity,
      startedAt,
      lastEventId,
    }: Session): Promise<PreparedTurn> {
      const [row] = await rows<{ id: number }>(
        `INSERT INTO turns (tenant_id, session_id, turn_index, state, attempt)
         VALUES (:tenantId, :sessionId, :turnIndex, 'RUNNING', 1) RETURNING id`,
        { tenantId, sessionId, turnIndex: openingTurnIndex },
      );
      if (!row) throw new Error(`session ${sessionId} took no opening turn`);
      const turn = { id: row.id, turnIndex: openingTurnIndex, clientTurnId: null, testDraft: false };
      const session = { sessionId, agentId, clientExternalId, metadata, identity, startedAt, lastEventId };
      return { ...turn, ...session, history: [], historyTokens: 0 };
    },

    /** Starts an attempt and reads the newest whole exchanges within `historyTokens`. Undefined if the turn has ended. */
    async prepare(turnId: number, attempt: number, historyTokens: number): Promise<PreparedTurn | undefined> {
      const [prepared] = await rows<
        Omit<PreparedTurn, 'history' | 'historyTokens'> & Pick<AcceptedRow, 'history' | 'historyTokens'>
      >(
        `WITH turn AS (
           UPDATE turns SET state = 'RUNNING', attempt = :attempt
            WHERE id = :turnId AND tenant_id = :tenantId AND state IN ('QUEUED', 'RUNNING') RETURNING *
         )
         SELECT turn.id, turn.turn_index, turn.client_turn_id, turn.session_id, turn.test_draft, session.agent_id,
                session.client_external_id, session.metadata, session.identity, session.started_at,
                ${lastEventIdSql('session')} AS last_event_id, history.messages AS history, history.tokens AS history_tokens
           FROM turn JOIN sessions AS session ON session.tenant_id = turn.tenant_id AND session.id = turn.session_id
           CROSS JOIN LATERAL (
             ${historySql({
               sessionId: 'turn.session_id',
               where: 'true',
               limit: maxHistoryMessages,
               fitting: 'total <= :historyTokens OR exchange_index = turn.turn_index',
             })}
           ) AS history`,
        { tenantId, turnId, attempt, historyTokens },
      );
      // An opening turn has no history.
      return prepared && { ...prepared, history: prepared.history ?? [], historyTokens: prepared.historyTokens ?? 0 };
    },

    /** Locks a turn and its session. The result's `open` is false if the turn has ended. */
    async lock(turnId: number) {
      const [locked] = await rows<Session & EventTurn & { interrupted: boolean; open: boolean }>(
        `SELECT ${sessionColumns}, turn.turn_index, turn.client_turn_id, turn.interrupted,
                turn.state IN ('QUEUED', 'RUNNING') AS open
           FROM sessions AS session
           JOIN turns AS turn ON turn.tenant_id = session.tenant_id AND turn.session_id = session.id
          WHERE turn.id = :turnId AND turn.tenant_id = :tenantId AND session.tenant_id = :tenantId FOR UPDATE`,
        { tenantId, turnId },
      );
      if (!locked) return undefined;
      const { turnIndex, clientTurnId, interrupted, open, ...session } = locked;
      return { session, turn: { id: turnId, turnIndex, clientTurnId }, interrupted, open };
    },

    /** Lists open turns in order. Only the first can be running. */
    async listOpen(sessionId: number): Promise<OpenTurn[]> {
      return rows<OpenTurn>(
        `SELECT id, turn_index, client_turn_id FROM turns
          WHERE session_id = :sessionId AND tenant_id = :tenantId AND state IN ('QUEUED', 'RUNNING') ORDER BY turn_index`,
        { tenantId, sessionId },
      );
    },

    /** Marks the first open turn as interrupted. Returns false if no turn is open, or if the first was marked before. */
    async markFirstInterrupted(sessionId: number): Promise<boolean> {
      const marked = await rows(
        `UPDATE turns SET interrupted = true WHERE tenant_id = :tenantId AND NOT interrupted AND id = (
           SELECT id FROM turns WHERE session_id = :sessionId AND tenant_id = :tenantId AND state IN ('QUEUED', 'RUNNING')
            ORDER BY turn_index LIMIT 1) RETURNING id`,
        { tenantId, sessionId },
      );
      return marked.length > 0;
    },

    /** Ends an open turn with its MODEL message and its event. The turn must be locked. */
    async storeReply(sessionId: number, turn: TurnOfReply, reply: Reply, eventId: EventId): Promise<Message> {
      const message = await writeReply(sessionId, turn, reply, eventId, { isLocked: true });
      if (!message) throw new Error(`session ${sessionId} is gone while turn ${turn.id} runs`);
      return message;
    },

    /**
     * Like `storeReply`, without a lock. Does nothing if the turn has ended or is interrupted, if the session is
     * ending, or if `eventId` is not above the session's newest event.
     */
    async storeReplyUnlocked(
      sessionId: number,
      turn: TurnOfReply,
      reply: Reply,
      eventId: EventId,
    ): Promise<Message | undefined> {
      return writeReply(sessionId, turn, reply, eventId, { isLocked: false });
    },

    /** Stores the MODEL message of a turn that fails after part of its reply was shown. The turn and its session must be locked. */
    async keepWords(sessionId: number, turn: TurnOfReply, reply: Reply): Promise<void> {
      await rows(
        `WITH session AS (
           UPDATE sessions SET next_turn_index = next_turn_index + 1,
                  total_tokens_in_context = coalesce(nullif(cast(:contextTokens AS integer), 0), total_tokens_in_context)
            WHERE id = :sessionId AND tenant_id = :tenantId RETURNING tenant_id, id, next_turn_index - 1 AS turn_index
         )
         ${insertReplySql('session', 'turn_index')} RETURNING id`,
        { tenantId, sessionId, ...replyValues(turn, reply) },
      );
    },

    async fail(sessionId: number, turnId: number, failure: TurnFailure, eventId: string): Promise<Date> {
      const [event] = await rows<{ occurredAt: Date }>(
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
      if (!event) throw new Error(`turn ${turnId} is gone while it fails`);
      return event.occurredAt;
    },
  };
}

/**
 * Returns SQL that inserts a MODEL message.
 * @param session a relation with `id` and `tenant_id` of the session
 * @param index the column of this relation with the message's turn index
 */
function insertReplySql(session: string, index: string): string {
  return `INSERT INTO messages (tenant_id, session_id, role, text, turn_index, exchange_index, tokens_in, tokens_out, cost_usd,
                                model_id, finish_reason, tokens_estimated, citations, tool_calls, structured_content, token_estimate)
          SELECT tenant_id, id, 'MODEL', :text, ${index}, :turnIndex, :tokensIn, :tokensOut,
                 cast(:costUsdE8 AS numeric) / 100000000, :modelId, :finishReason, :tokensEstimated, cast(:citations AS jsonb),
                 cast(:toolCalls AS jsonb), cast(:structuredContent AS jsonb), :tokens
            FROM ${session}`;
}

function replyValues({ turnIndex }: TurnOfReply, reply: Reply) {
  const { text, tokensIn, tokensOut, costUsdE8, modelId, finishReason, tokensEstimated } = reply;
  const { citations, toolCalls, structuredContent, contextTokens: contextSize } = reply;
  return {
    turnIndex,
    text,
    tokens: contextTokens(text),
    tokensIn,
    tokensOut,
    costUsdE8: costUsdE8.toString(),
    modelId,
    finishReason,
    tokensEstimated,
    citations: citations && JSON.stringify(citations),
    toolCalls: toolCalls.length > 0 ? JSON.stringify(toolCalls) : null,
    structuredContent: structuredContent === null ? null : JSON.stringify(structuredContent),
    contextTokens: contextSize,
  };
}

interface AcceptedRow {
  turnId: number;
  turnIndex: number;
  isFirst: boolean;
  history: PreparedTurn['history'] | null;
  historyTokens: number | null;
}

interface HistoryClauses {
  /** SQL of the session's id. It may use columns of the row `turn`. */
  sessionId: string;
  /** SQL of a condition for messages. It may use columns of the row `turn`. */
  where: string;
  /** Maximum number of messages. */
  limit: number;
  /** The condition for the exchanges that fit. `total` is the number of tokens of an exchange together with all newer ones. */
  fitting: string;
}

/** Returns SQL for the newest exchanges that fit completely, up to that of `turn`; oldest first. */
function historySql({ sessionId, where, limit, fitting }: HistoryClauses): string {
  // Messages of the same exchange are window peers, so both sums include the whole exchange. One message beyond the
  // limit is read, to check whether the oldest exchange is complete.
  return `SELECT json_agg(json_build_object('role', role, 'text', text) ORDER BY exchange_index, role DESC) AS messages,
                 cast(sum(token_estimate) AS integer) AS tokens
            FROM (
              SELECT role, text, exchange_index, token_estimate,
                     sum(token_estimate) OVER (ORDER BY exchange_index DESC) AS total,
                     count(*) OVER (ORDER BY exchange_index DESC) AS messages_so_far
                FROM newest_messages(:tenantId, ${sessionId}, turn.turn_index, ${limit + 1}) WHERE ${where}
            ) AS bounded
           WHERE messages_so_far <= ${limit} AND (${fitting})`;
}
