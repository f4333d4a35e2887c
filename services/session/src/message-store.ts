import type { Page } from '@parley/kernel/input';
import { columnsWithin, listWithin } from '@parley/postgres/database/list-within';
import { columnsOf } from '@parley/postgres/database/table';
import type { TenantDb } from '@parley/postgres/database/types';
import { type Message, messages } from './session.ts';

/** Maximum number of rows that are read to find where a part of a transcript ends. */
const maxMessagesPerPart = 2_000;

export type TranscriptLine = Pick<Message, 'role' | 'text' | 'turnIndex' | 'createdAt'>;

export function messageStore(db: TenantDb) {
  const { knex, tenantId } = db;
  return {
    /**
     * Lists a page of messages for each session, oldest first. Long columns are read only if they are selected.
     * @throws DomainError with reason `ANSWER_TOO_LARGE` if the messages exceed the answer budget
     */
    async listOf(sessionIds: number[], { first, after }: Page): Promise<Map<number, Message[]>> {
      const page = knex.raw(
        `unnest(cast(:sessionIds AS integer[])) AS session_id CROSS JOIN LATERAL (
           SELECT ${columnsWithin(db, messages)} FROM messages
            WHERE messages.session_id = session_id.session_id AND tenant_id = :tenantId
              AND (cast(:after AS integer) IS NULL OR id > cast(:after AS integer))
            ORDER BY turn_index LIMIT cast(:first AS integer)) AS page`,
        { tenantId, sessionIds, first: first ?? null, after: after ?? null },
      );
      const rows = await listWithin<Message>(db, knex.select('page.*').from(page));
      const found = new Map(sessionIds.map((id): [number, Message[]] => [id, []]));
      for (const message of rows) found.get(message.sessionId)?.push(message);
      return found;
    },

    /** Lists messages after a position in a session, oldest first: at least one, and about `bytes` in total. Reads one index range. */
    async listAfter(sessionId: number, turnIndex: number, bytes: number): Promise<TranscriptLine[]> {
      const { rows } = await knex.raw(
        `SELECT role, text, turn_index, created_at FROM (
           SELECT role, text, turn_index, created_at,
                  sum(octet_length(text) + :lineBytes) OVER (ORDER BY turn_index ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
                    AS bytes_before
             FROM (
               SELECT role, text, turn_index, created_at FROM messages
                WHERE tenant_id = :tenantId AND session_id = :sessionId AND turn_index > :turnIndex
                ORDER BY turn_index LIMIT :maxMessages
             ) AS following
         ) AS page WHERE coalesce(bytes_before, 0) < :bytes ORDER BY turn_index`,
        { tenantId, sessionId, turnIndex, bytes, lineBytes: 100, maxMessages: maxMessagesPerPart },
      );
      return rows;
    },

    /** Returns the estimated tokens of the session's exchanges up to and including `exchangeIndex`. */
    async sumTokens(sessionId: number, exchangeIndex: number): Promise<number> {
      const { rows } = await knex.raw(
        `SELECT cast(coalesce(sum(token_estimate), 0) AS integer) AS tokens FROM messages
          WHERE tenant_id = :tenantId AND session_id = :sessionId AND exchange_index <= :exchangeIndex`,
        { tenantId, sessionId, exchangeIndex },
      );
      return rows[0].tokens;
    },

    async insertGreeting(sessionId: number, text: string, tokenEstimate: number): Promise<Message> {
      const { rows } = await knex.raw(
        `WITH session AS (
           UPDATE sessions SET next_turn_index = 1 WHERE tenant_id = :tenantId AND id = :sessionId RETURNING tenant_id, id
         )
         INSERT INTO messages (tenant_id, session_id, role, text, turn_index, exchange_index, token_estimate)
         SELECT tenant_id, id, 'MODEL', :text, 0, 0, :tokenEstimate FROM session RETURNING ${columnsOf(messages)}`,
        { tenantId, sessionId, text, tokenEstimate },
      );
      return rows[0];
    },
  };
}
