import { columnsWithin, listWithin } from '@parley/postgres/database/list-within';
import { rowsBy } from '@parley/postgres/database/rows';
import type { TenantDb } from '@parley/postgres/database/types';
import { type NewOutboundCall, type OutboundCall, outboundCalls } from './outbound-call.ts';

/** The tenant's log of calls. */
export function outboundCallStore(db: TenantDb) {
  const { knex, tenantId } = db;
  const rows = rowsBy(knex);
  return {
    /** Appends an entry in one statement, for a call that ends now and began `durationMs` ago. */
    async insert({ agentId = null, sessionId = null, ...call }: NewOutboundCall): Promise<void> {
      await rows(
        `WITH counted AS (
           INSERT INTO outbound_call_counters AS counters (tenant_id, last_id) VALUES (:tenantId, 1)
           ON CONFLICT (tenant_id) DO UPDATE SET last_id = counters.last_id + 1 RETURNING last_id
         ), begun AS (
           SELECT parley_now() - cast(:durationMs AS integer) * interval '1 ms' AS at
         ), dated AS (
           INSERT INTO outbound_call_days (tenant_id, day) SELECT :tenantId, cast(at AT TIME ZONE 'UTC' AS date) FROM begun
           ON CONFLICT DO NOTHING
         )
         INSERT INTO outbound_calls
           (tenant_id, id, at, kind, target, name, status, duration_ms, bytes, error_kind, agent_id, session_id)
         SELECT :tenantId, last_id, at, :kind, :target, :name, :status, cast(:durationMs AS integer), :bytes, :errorKind,
           cast(:agentId AS integer), cast(:sessionId AS integer)
           FROM counted, begun`,
        { tenantId, agentId, sessionId, ...call },
      );
    },

    /** Lists entries with ids below `before`, newest first. */
    async list(first: number, before: number | undefined, days: number): Promise<OutboundCall[]> {
      const query = knex('outbound_calls')
        .select(knex.raw(columnsWithin(db, outboundCalls)))
        .where({ tenantId })
        .whereRaw(`at > parley_now() - ? * interval '1 day'`, [days])
        .orderBy('id', 'desc')
        .limit(first);
      if (before !== undefined) void query.where('id', '<', before);
      return listWithin<OutboundCall>(db, query);
    },

    /** Deletes one batch of entries from this day or earlier days. @returns true if no such entries remain */
    async deleteUntil(day: string, max: number): Promise<boolean> {
      const deleted = await rows(
        `DELETE FROM outbound_calls WHERE tenant_id = :tenantId AND id = ANY (ARRAY (
           SELECT id FROM outbound_calls
            WHERE tenant_id = :tenantId AND at < cast(:day AS date) AT TIME ZONE 'UTC' + interval '1 day'
            ORDER BY at LIMIT ${max}))
         RETURNING id`,
        { tenantId, day },
      );
      return deleted.length < max;
    },
  };
}
