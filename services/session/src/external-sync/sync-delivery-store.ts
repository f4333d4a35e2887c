import { notFound } from '@parley/kernel/errors';
import { columnsWithin, listWithin } from '@parley/postgres/database/list-within';
import { rowsBy } from '@parley/postgres/database/rows';
import { columnsOf } from '@parley/postgres/database/table';
import type { TenantDb } from '@parley/postgres/database/types';
import { notDeletedSql, tenantTombstones } from '@parley/postgres/tenant-tombstones';
import { type SyncDelivery, type SyncStatus, syncDeliveries } from './sync-delivery.ts';
import type { SyncJob } from './sync-job.ts';

const columns = columnsOf(syncDeliveries);

/**
 * Selects deliveries from a list that starts with the newest one. `before` is an id: only deliveries with smaller ids, which are older, are
 * selected.
 */
export interface DeliveryFilter {
  agentId?: number | undefined;
  status?: SyncStatus | undefined;
  first: number;
  before?: number | undefined;
}

/**
 * The old deliveries of a tenant are deleted when a delivery ends whose id is a multiple of this number. Ids count the deliveries of all
 * tenants, so a tenant has about this many more deliveries than its limit, on average.
 */
const trimmedEvery = 100;

export function syncDeliveryStore(db: TenantDb) {
  const { knex, tenantId } = db;
  const rows = rowsBy(knex);
  const untilSql = `parley_now() + cast(:forMs AS float8) * interval '1 ms'`;

  return {
    /** Finds or creates the delivery of a session; undefined if the tenant is deleted. */
    async ensure({ sessionId, agentId }: SyncJob, webhookId: string, forMs: number): Promise<SyncDelivery | undefined> {
      await tenantTombstones(db).lockShared();
      await rows(
        `INSERT INTO sync_deliveries (tenant_id, agent_id, session_id, webhook_id, status, next_attempt_at, retry_until)
         SELECT :tenantId, cast(:agentId AS integer), cast(:sessionId AS integer), :webhookId, 'PENDING', parley_now(), ${untilSql}
          WHERE ${notDeletedSql}
         ON CONFLICT (tenant_id, session_id) DO NOTHING`,
        { tenantId, agentId, sessionId, webhookId, forMs },
      );
      return this.findOf(sessionId);
    },

    async findOf(sessionId: number): Promise<SyncDelivery | undefined> {
      const [found] = await rows<SyncDelivery>(
        `SELECT ${columns} FROM sync_deliveries WHERE tenant_id = :tenantId AND session_id = :sessionId FOR UPDATE`,
        { tenantId, sessionId },
      );
      return found;
    },

    /** @throws DomainError `notFound` if there is no such delivery */
    async lock(id: number): Promise<SyncDelivery> {
      const [found] = await rows<SyncDelivery>(
        `SELECT ${columns} FROM sync_deliveries WHERE tenant_id = :tenantId AND id = :id FOR UPDATE`,
        { tenantId, id },
      );
      if (!found) throw notFound('Delivery', id);
      return found;
    },

    /** Counts an attempt. It is called before the webhook is sent, so that the attempt counts even if the process dies. */
    async countAttempt(id: number): Promise<void> {
      await rows(
        'UPDATE sync_deliveries SET attempts = attempts + 1, next_attempt_at = NULL WHERE tenant_id = :tenantId AND id = :id',
        { tenantId, id },
      );
    },

    /** Counts a failed attempt. @returns the number of consecutive failures, and the remaining time for more attempts in ms */
    async countFailure(id: number, error: string): Promise<{ failures: number; leftMs: number }> {
      const [counted] = await rows<{ failures: number; leftMs: number }>(
        `UPDATE sync_deliveries SET failures = failures + 1, last_error = :error WHERE tenant_id = :tenantId AND id = :id
         RETURNING failures, cast(extract(epoch FROM retry_until - parley_now()) * 1000 AS float8) AS left_ms`,
        { tenantId, id, error },
      );
      return counted ?? { failures: 1, leftMs: 0 };
    },

    async waitFor(id: number, delayMs: number): Promise<void> {
      await rows(
        `UPDATE sync_deliveries SET next_attempt_at = parley_now() + cast(:delayMs AS float8) * interval '1 ms'
          WHERE tenant_id = :tenantId AND id = :id`,
        { tenantId, id, delayMs },
      );
    },

    /**
     * Ends a delivery. If its id is a multiple of 100, or of `kept` if `kept` is smaller, also deletes the tenant's oldest ended
     * deliveries, so that `kept` remain.
     */
    async finish(id: number, status: 'DELIVERED' | 'FAILED', kept: number): Promise<void> {
      await rows(
        `UPDATE sync_deliveries SET status = :status, next_attempt_at = NULL, finished_at = parley_now(),
                delivered_at = CASE WHEN :status = 'DELIVERED' THEN parley_now() ELSE delivered_at END,
                last_error = CASE WHEN :status = 'DELIVERED' THEN NULL ELSE last_error END
          WHERE tenant_id = :tenantId AND id = :id`,
        { tenantId, id, status },
      );
      await rows(
        `INSERT INTO sync_delivery_days (tenant_id, day) SELECT :tenantId, cast(parley_now() AT TIME ZONE 'UTC' AS date)
         ON CONFLICT DO NOTHING`,
        { tenantId },
      );
      if (id % Math.min(trimmedEvery, kept) === 0) await this.deleteBeyond(kept);
    },

    async deleteBeyond(kept: number): Promise<void> {
      await rows(
        `DELETE FROM sync_deliveries WHERE tenant_id = :tenantId AND id = ANY (ARRAY (
           SELECT id FROM sync_deliveries WHERE tenant_id = :tenantId AND finished_at IS NOT NULL
            ORDER BY finished_at DESC, id DESC OFFSET :kept LIMIT 1000))`,
        { tenantId, kept },
      );
    },

    /** Makes the delivery PENDING, whatever its status, and allows attempts for `forMs`. The webhook id stays the same. */
    async restart(id: number, forMs: number): Promise<SyncDelivery> {
      const [restarted] = await rows<SyncDelivery>(
        `UPDATE sync_deliveries SET status = 'PENDING', failures = 0, next_attempt_at = parley_now(), finished_at = NULL,
                delivered_at = NULL, retry_until = ${untilSql}
          WHERE tenant_id = :tenantId AND id = :id RETURNING ${columns}`,
        { tenantId, id, forMs },
      );
      if (!restarted) throw notFound('Delivery', id);
      return restarted;
    },

    /** Lists deliveries, newest first. Those that ended more than `days` days ago are omitted. */
    async list({ agentId, status, first, before }: DeliveryFilter, days: number): Promise<SyncDelivery[]> {
      const query = knex('sync_deliveries')
        .select(knex.raw(columnsWithin(db, syncDeliveries)))
        .where({ tenantId })
        .whereRaw(`(finished_at IS NULL OR finished_at > parley_now() - ? * interval '1 day')`, [days])
        .orderBy('id', 'desc')
        .limit(first);
      if (agentId !== undefined) void query.where({ agentId });
      if (status !== undefined) void query.where({ status });
      if (before !== undefined) void query.where('id', '<', before);
      return listWithin<SyncDelivery>(db, query);
    },

    async deleteAll(): Promise<void> {
      await rows('DELETE FROM sync_deliveries WHERE tenant_id = :tenantId', { tenantId });
    },

    /** Deletes up to `maxRows` deliveries that ended on or before `day`. @returns true if no such deliveries remain */
    async deleteUntil(day: string, maxRows: number): Promise<boolean> {
      const deleted = await rows(
        `DELETE FROM sync_deliveries WHERE tenant_id = :tenantId AND id = ANY (ARRAY (
           SELECT id FROM sync_deliveries
            WHERE tenant_id = :tenantId AND finished_at < cast(:day AS date) AT TIME ZONE 'UTC' + interval '1 day'
            ORDER BY finished_at LIMIT ${maxRows}))
         RETURNING id`,
        { tenantId, day },
      );
      return deleted.length < maxRows;
    },
  };
}
