import type { Knex } from 'knex';
import {
  type Claim,
  type ClaimedJob,
  type ClaimedRow,
  claimedColumns,
  fromRow,
  leaseAssignments,
  limitLock,
  rowsBy,
} from './job-rows.ts';

/** How many jobs of one tenant a search claims at once; with the appends under way it stays below the margin. */
const tenantBatch = 16;

/** What finds, among the jobs of one kind, those that nobody is at. */
export function jobSearchStore(knex: Knex.Transaction, kind: string) {
  const rows = rowsBy(knex);

  return {
    /** What there is to do, at the cost of three index look-ups. Times in ms from now. */
    async look() {
      const [row] = await rows<{ expired: boolean; oldest_due: number | null; next_due: number | null }>(
        `select
           exists (select 1 from jobs where kind = :kind and state = 'running' and lease_until < parley_now()) as expired,
           cast(extract(epoch from (select min(run_at) from jobs
             where kind = :kind and state = 'queued' and run_at <= parley_now()) - parley_now()) * 1000 as float8) as oldest_due,
           cast(extract(epoch from (select min(run_at) from jobs
             where kind = :kind and state = 'queued' and run_at > parley_now()) - parley_now()) * 1000 as float8) as next_due`,
        { kind },
      );
      return {
        expired: row?.expired === true,
        oldestDueMs: row?.oldest_due ?? undefined,
        nextDueMs: row?.next_due ?? undefined,
      };
    },

    /** Takes over jobs whose lease has run out and that may be tried again. */
    async takeOver(claim: Claim, maxAttempts: number, count: number): Promise<ClaimedJob[]> {
      const claimed = await rows<ClaimedRow>(
        `with lost as (
           select id from jobs
           where kind = :kind and state = 'running' and lease_until < parley_now() and attempt < :maxAttempts
           order by id limit :count for no key update skip locked
         )
         update jobs set attempt = attempt + 1, ${leaseAssignments} from lost where jobs.id = lost.id returning ${claimedColumns}`,
        { kind, maxAttempts, count, ...claim },
      );
      return claimed.map(fromRow);
    },

    /** Jobs whose lease has run out once too often. */
    async findExhausted(maxAttempts: number): Promise<ClaimedJob[]> {
      const found = await rows<ClaimedRow>(
        `select ${claimedColumns} from jobs
         where kind = :kind and state = 'running' and lease_until < parley_now() and attempt >= :maxAttempts
         order by id limit 20`,
        { kind, maxAttempts },
      );
      return found.map(fromRow);
    },

    /** Tenants with due jobs and room below their limit, those that wait longest first. */
    async listTenantsWithRoom(limit: number): Promise<number[]> {
      const tenants = await rows<{ tenant_id: number }>(
        `select tenant_id from (
           select tenant_id, min(id) as first from jobs
           where kind = :kind and state = 'queued' and run_at <= parley_now() and tenant_id is not null group by tenant_id
         ) as waiting
         where (select count(*) from jobs where kind = :kind and state = 'running' and tenant_id = waiting.tenant_id) < :limit
         order by first limit 50`,
        { kind, limit },
      );
      return tenants.map(({ tenant_id }) => tenant_id);
    },

    /** Makes this transaction the only one that claims jobs of these tenants, until it ends. */
    async lockTenants(tenantIds: number[]): Promise<void> {
      // In one order everywhere, and before any row lock, so that nobody waits in a circle.
      const sorted = tenantIds.toSorted((a, b) => a - b);
      await rows(
        `select pg_advisory_xact_lock(${limitLock}, tenant) from unnest(cast(:sorted as integer[])) as tenant`,
        {
          kind,
          sorted,
        },
      );
    },

    /** The same for one tenant, unless that would mean to wait. */
    async tryLockTenant(tenantId: number): Promise<boolean> {
      const [row] = await rows<{ locked: boolean }>(
        `select pg_try_advisory_xact_lock(${limitLock}, cast(:tenantId as integer)) as locked`,
        { kind, tenantId },
      );
      return row?.locked === true;
    },

    /** Claims due jobs that are first of their key: of locked tenants up to their limit. */
    async claimOfTenants(tenantIds: number[], limit: number, claim: Claim, count: number): Promise<ClaimedJob[]> {
      return claimHeads(
        `select heads.id from unnest(cast(:tenantIds as integer[])) as tenant cross join lateral (
           ${dueHeads('and jobs.tenant_id = tenant')} order by id limit least(${tenantBatch}, greatest(0, :limit - (
             select count(*) from jobs where kind = :kind and state = 'running' and tenant_id = tenant)))
         ) as heads order by id limit :count`,
        { tenantIds, limit, count, ...claim },
      );
    },

    /** Claims due jobs that are first of their key, the oldest first. */
    async claimAny(claim: Claim, count: number, { tenantless = false } = {}): Promise<ClaimedJob[]> {
      return claimHeads(`${dueHeads(tenantless ? 'and jobs.tenant_id is null' : '')} order by id limit :count`, {
        count,
        ...claim,
      });
    },
  };

  /**
   * SKIP LOCKED and the state looked at again keep two searches from taking the same job. NO KEY: an append behind a job, which
   * holds it FOR KEY SHARE, is no reason to pass that over; it would wake nobody when it commits.
   */
  async function claimHeads(heads: string, values: Record<string, Knex.RawBinding>): Promise<ClaimedJob[]> {
    const claimed = await rows<ClaimedRow>(
      `with heads as materialized (${heads}), free as (
         select id from jobs where id in (select id from heads) and state = 'queued' for no key update skip locked
       )
       update jobs set state = 'running', attempt = attempt + 1, ${leaseAssignments} from free where jobs.id = free.id
       returning ${claimedColumns}`,
      { kind, ...values },
    );
    return claimed.map(fromRow).toSorted((a, b) => a.id - b.id);
  }
}

function dueHeads(condition: string): string {
  return `select jobs.id from jobs
    where jobs.kind = :kind and jobs.state = 'queued' and jobs.run_at <= parley_now() ${condition}
      and not exists (select 1 from jobs as other where other.kind = :kind and other.key = jobs.key and other.state = 'running')
      and not exists (
        select 1 from jobs as other
        where other.kind = :kind and other.key = jobs.key and other.state = 'queued' and other.id < jobs.id
      )`;
}
