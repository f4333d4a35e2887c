import { notFound } from '@parley/kernel/errors';
import type { Page } from '@parley/kernel/input';
import { eventIdParts } from '@parley/live/event-log/event-id';
import { columnsWithin, listWithin } from '@parley/postgres/database/list-within';
import { columnsOf } from '@parley/postgres/database/table';
import type { TenantDb } from '@parley/postgres/database/types';
import { notDeletedSql } from '@parley/postgres/tenant-tombstones';
import type { VerifiedIdentity } from './embed/verified-identity.ts';
import { type EndStatus, type Session, type SessionStatus, sessions } from './session.ts';

const columns = columnsOf(sessions);

export type NewSession = Pick<Session, 'agentId' | 'clientExternalId' | 'metadata'>;

/**
 * Selects sessions from a list that starts with the newest one. `after` is an id: only sessions with smaller ids, which are older, are
 * selected.
 */
export interface SessionFilter extends Page {
  agentId?: number | undefined;
}

/** SQL condition for messages with usage that belong to the current row of `sessions`. The index `messages_spent` covers these messages. */
const spentBySession = `messages.tenant_id = :tenantId AND messages.session_id = sessions.id AND role = 'MODEL'`;

interface CustomerFilter {
  externalCustomerId: string;
  before: number | undefined;
  limit: number;
}

export interface CustomerUsage {
  sessionCount: number;
  tokensIn: number;
  tokensOut: number;
  costUsd: number;
}

export function sessionStore(db: TenantDb) {
  const { knex, tenantId } = db;
  const mine = () => knex<Session>('sessions').where({ tenantId });

  const ofCustomer = (externalCustomerId: string) =>
    mine()
      .whereRaw('client_hash = hashtextextended(?, 0)', [externalCustomerId])
      .where({ clientExternalId: externalCustomerId });

  async function find(id: number, lock: 'FOR UPDATE' | '' = ''): Promise<Session | undefined> {
    const { rows } = await knex.raw(
      `SELECT ${columns} FROM sessions WHERE tenant_id = :tenantId AND id = :id ${lock}`,
      { tenantId, id },
    );
    return rows[0];
  }

  async function get(id: number, lock?: 'FOR UPDATE'): Promise<Session> {
    const session = await find(id, lock);
    if (!session) throw notFound('Session', id);
    return session;
  }

  return {
    find,
    get,

    lock: (id: number): Promise<Session> => get(id, 'FOR UPDATE'),

    /**
     * Lists sessions, newest first. Long columns are read only if they are selected. @throws DomainError with reason `ANSWER_TOO_LARGE` if
     * the sessions exceed the answer budget
     */
    async list({ agentId, first, after }: SessionFilter): Promise<Session[]> {
      const query = mine()
        .select(knex.raw(columnsWithin(db, sessions)))
        .orderBy('id', 'desc');
      if (agentId !== undefined) query.where({ agentId });
      if (after !== undefined) query.where('id', '<', after);
      if (first !== undefined) query.limit(first);
      return listWithin<Session>(db, query);
    },

    async listStatuses(ids: readonly number[]): Promise<{ id: number; status: SessionStatus }[]> {
      return mine()
        .whereRaw('id = any(?)', [[...ids]])
        .select('id', 'status');
    },

    /** Excludes all ACTIVE sessions from evaluation. Returns whether the tenant has ACTIVE sessions. */
    async skipEvaluation(): Promise<boolean> {
      return (await mine().where({ status: 'ACTIVE' }).update({ judged: false })) > 0;
    },

    async listActive({ after, limit }: { after: number; limit: number }): Promise<number[]> {
      const rows = await mine()
        .where({ status: 'ACTIVE' })
        .where('id', '>', after)
        .orderBy('id')
        .limit(limit)
        .select('id');
      return rows.map(({ id }) => id);
    },

    /**
     * Reads sessions in any order. Long columns are read only if they are selected. @throws DomainError with reason `ANSWER_TOO_LARGE` if
     * the sessions exceed the answer budget
     */
    async listByIds(ids: readonly number[]): Promise<Session[]> {
      const query = mine()
        .select(knex.raw(columnsWithin(db, sessions)))
        .whereRaw('id = any(?)', [[...ids]]);
      return listWithin<Session>(db, query);
    },

    /** Lists ids of a customer's sessions, newest first. With `before`, only ids that are smaller than it. */
    async listIdsOfCustomer({ externalCustomerId, before, limit }: CustomerFilter): Promise<number[]> {
      const query = ofCustomer(externalCustomerId).orderBy('id', 'desc').limit(limit).select('id');
      if (before !== undefined) query.where('id', '<', before);
      return (await query).map(({ id }) => id);
    },

    async countOfCustomer(externalCustomerId: string): Promise<number> {
      const row = await ofCustomer(externalCustomerId).count<{ count: number }[]>({ count: '*' }).first();
      return row?.count ?? 0;
    },

    /**
     * Sums a customer's usage in one snapshot. Ended sessions have stored sums; for active ones the messages are summed
     * from an index of messages with usage.
     */
    async usageOfCustomer(externalCustomerId: string): Promise<CustomerUsage> {
      const { rows } = await knex.raw(
        `SELECT cast(count(*) AS integer) AS session_count,
                cast(coalesce(sum(coalesce(sessions.tokens_in, spent.tokens_in)), 0) AS float8) AS tokens_in,
                cast(coalesce(sum(coalesce(sessions.tokens_out, spent.tokens_out)), 0) AS float8) AS tokens_out,
                cast(coalesce(sum(coalesce(sessions.cost_usd, spent.cost_usd)), 0) AS float8) AS cost_usd
           FROM sessions CROSS JOIN LATERAL (
             SELECT sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out, sum(cost_usd) AS cost_usd FROM messages
              WHERE sessions.tokens_in IS NULL AND ${spentBySession}
           ) AS spent
          WHERE tenant_id = :tenantId AND client_hash = hashtextextended(:externalCustomerId, 0)
            AND client_external_id = :externalCustomerId`,
        { tenantId, externalCustomerId },
      );
      return rows[0];
    },

    /** Counts a ticket. Returns false once the session has reached its maximum. */
    async claimTicket(id: number, max: number): Promise<boolean> {
      const { rows } = await knex.raw(
        `UPDATE sessions SET tickets_tried = tickets_tried + 1
          WHERE tenant_id = :tenantId AND id = :id AND tickets_tried < :max RETURNING id`,
        { tenantId, id, max },
      );
      return rows.length > 0;
    },

    /** Subtracts a ticket whose exchange ended without a decision of the provider. */
    async releaseTicket(id: number): Promise<void> {
      await knex.raw(
        'UPDATE sessions SET tickets_tried = greatest(0, tickets_tried - 1) WHERE tenant_id = :tenantId AND id = :id',
        { tenantId, id },
      );
    },

    async setIdentity(id: number, identity: VerifiedIdentity): Promise<void> {
      await mine()
        .where({ id })
        .update({ identity: JSON.stringify(identity) as never, updatedAt: knex.raw('parley_now()') });
    },

    async count(): Promise<number> {
      const row = await mine().count<{ count: number }[]>({ count: '*' }).first();
      return row?.count ?? 0;
    },

    /** Inserts an ACTIVE session. Returns undefined if the tenant is deleted. The caller holds the shared lock of `tenantTombstones`. */
    async insert({ agentId, clientExternalId, metadata }: NewSession): Promise<Session | undefined> {
      const { rows } = await knex.raw(
        `INSERT INTO sessions (tenant_id, agent_id, status, client_external_id, metadata,
                               created_at, updated_at, started_at, last_event_at)
         SELECT :tenantId, :agentId, 'ACTIVE', :clientExternalId, cast(:metadata AS jsonb), moment, moment, moment, moment
           FROM parley_now() AS moment
          WHERE ${notDeletedSql}
         RETURNING ${columns}`,
        { tenantId, agentId, clientExternalId, metadata: metadata == null ? null : JSON.stringify(metadata) },
      );
      return rows[0];
    },

    /** Counts an interrupt. It is activity: the session's idle time starts again. */
    async countInterrupt(id: number): Promise<void> {
      await knex.raw(
        `UPDATE sessions SET interrupt_count = interrupt_count + 1, last_event_at = parley_now(), updated_at = parley_now()
          WHERE tenant_id = :tenantId AND id = :id`,
        { tenantId, id },
      );
    },

    /** Marks a session as ending: it accepts no more messages, and the transaction that ends its running turn also ends the session. */
    async markEnding(id: number, status: EndStatus): Promise<void> {
      await knex.raw('UPDATE sessions SET ending_as = :status WHERE tenant_id = :tenantId AND id = :id', {
        tenantId,
        id,
        status,
      });
    },

    async end(id: number, status: EndStatus): Promise<Session> {
      const { rows } = await knex.raw(
        `UPDATE sessions SET status = :status, ending_as = NULL, ended_at = parley_now(), last_event_at = parley_now(),
                updated_at = parley_now(), (tokens_in, tokens_out, cost_usd) = (
                  SELECT coalesce(sum(tokens_in), 0), coalesce(sum(tokens_out), 0), coalesce(sum(cost_usd), 0) FROM messages
                   WHERE ${spentBySession})
          WHERE tenant_id = :tenantId AND id = :id
         RETURNING ${columns}`,
        { tenantId, id, status },
      );
      return rows[0];
    },

    /**
     * Returns the time in ms until an ACTIVE session has been idle for `idleMs` or is `maxAgeMs` old; zero or negative after that.
     * Undefined if the session is not ACTIVE.
     */
    async timeLeftMs(
      id: number,
      { idleMs, maxAgeMs }: { idleMs: number; maxAgeMs: number },
    ): Promise<number | undefined> {
      const { rows } = await knex.raw(
        `SELECT cast(extract(epoch FROM least(
                  coalesce(last_event_at, created_at) + :idleMs * interval '1 millisecond',
                  coalesce(started_at, created_at) + :maxAgeMs * interval '1 millisecond'
                ) - parley_now()) * 1000 AS float8) AS remaining_ms
           FROM sessions WHERE tenant_id = :tenantId AND id = :id AND status = 'ACTIVE'`,
        { tenantId, id, idleMs, maxAgeMs },
      );
      return rows[0]?.remainingMs;
    },

    /** Records the id of the newest event. Later events of the session must have higher ids. */
    async recordLastEvent(id: number, eventId: string): Promise<void> {
      const { ms, n } = eventIdParts(eventId);
      await knex.raw(
        `UPDATE sessions SET last_event_ms = :ms, last_event_n = :n, last_event_at = parley_now(), updated_at = parley_now()
          WHERE tenant_id = :tenantId AND id = :id`,
        { tenantId, id, ms, n },
      );
    },
  };
}
