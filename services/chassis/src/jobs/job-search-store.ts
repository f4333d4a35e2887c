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

/** The greatest id that a tenant can have. */
const maxTenantId = 2_147_483_647;

/** Up to so many due jobs are looked at one by one. */
const fewDue = 500;

/**
 * Where few jobs are due, whatever else waits for its time: how many they are, and which tenants have one among them that can
 * run, and room for it.
 */
const tenantsOfFewSql = `
  with due as materialized (
    select id, key, tenant_id from jobs
    where kind = :kind and state = 'queued' and run_at <= parley_now() and tenant_id is not null order by run_at limit :most
  ), able as (
    select distinct tenant_id from due
    where (select count(*) from due) < :most
      and not exists (select 1 from jobs as other where other.kind = :kind and other.key = due.key and other.state = 'running')
      and not exists (
        select 1 from jobs as other
        where other.kind = :kind and other.key = due.key and other.state = 'queued' and other.id < due.id
      )
  )
  select (select cast(count(*) as integer) from due) as due, array(
    select tenant_id from able
    where (select count(*) from jobs where kind = :kind and state = 'running' and jobs.tenant_id = able.tenant_id) < :limit
    order by tenant_id
  ) as tenants`;

/**
 * Where many are due. It walks through the index of waiting jobs by tenant and key, one look-up a step: from the first job of
 * a key to that of the next key, and to the next tenant as soon as one of them can run. A tenant's steps are as many as it has
 * keys that run or wait for their time, however many jobs wait behind them. It ends with the last tenant wanted, since a
 * recursion is read lazily.
 */
const tenantsOfManySql = `
  with recursive walk as (
    (select tenant_id, key, ${canRun('first')} from (
       select jobs.tenant_id, jobs.key, jobs.run_at from jobs
       where jobs.kind = :kind and jobs.state = 'queued' and jobs.tenant_id > cast(:from as integer)
         and jobs.tenant_id <= cast(:upTo as integer)
       order by jobs.tenant_id, jobs.key, jobs.id limit 1) as first)
    union all
    select next.tenant_id, next.key, ${canRun('next')}
    from walk cross join lateral (
      (select jobs.tenant_id, jobs.key, jobs.run_at from jobs
       where not walk.can_run and jobs.kind = :kind and jobs.state = 'queued' and jobs.tenant_id = walk.tenant_id
         and jobs.key > walk.key
       order by jobs.tenant_id, jobs.key, jobs.id limit 1)
      union all
      (select jobs.tenant_id, jobs.key, jobs.run_at from jobs
       where jobs.kind = :kind and jobs.state = 'queued' and jobs.tenant_id > walk.tenant_id
         and jobs.tenant_id <= cast(:upTo as integer)
       order by jobs.tenant_id, jobs.key, jobs.id limit 1)
      limit 1
    ) as next
  )
  select tenant_id from walk
  where can_run
    and (select count(*) from jobs where kind = :kind and state = 'running' and jobs.tenant_id = walk.tenant_id) < :limit
  limit :most`;

/** Whether the first waiting job of a key is due and no other one of the key runs. */
function canRun(head: string): string {
  return `${head}.run_at <= (select parley_now()) and not exists (
      select 1 from jobs as other where other.kind = :kind and other.key = ${head}.key and other.state = 'running'
    ) as can_run`;
}

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

    /**
     * Tenants with room below their limit and a job that can run now, in the order of their ids from the one after `after` on
     * and round to it: whoever passes the last tenant served takes from all of them in turn. One that has only jobs behind
     * running ones is none of them.
     */
    async listTenantsWithRoom(limit: number, after: number, count: number): Promise<number[]> {
      const [seen] = await rows<{ due: number; tenants: number[] }>(tenantsOfFewSql, { kind, limit, most: fewDue + 1 });
      if (seen && seen.due <= fewDue) {
        const inTurn = [...seen.tenants.filter((id) => id > after), ...seen.tenants.filter((id) => id <= after)];
        return inTurn.slice(0, count);
      }
      const listed = await tenantsBetween(after, maxTenantId, count);
      return listed.length < count ? [...listed, ...(await tenantsBetween(0, after, count - listed.length))] : listed;

      async function tenantsBetween(from: number, upTo: number, most: number): Promise<number[]> {
        const tenants = await rows<{ tenant_id: number }>(tenantsOfManySql, { kind, limit, from, upTo, most });
        return tenants.map(({ tenant_id }) => tenant_id);
      }
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

    /**
     * Claims due jobs that are first of their key, of locked tenants up to their limit: one of each tenant in the order given,
     * the oldest first, then a second one of each, up to `share`.
     */
    async claimOfTenants(
      tenantIds: number[],
      { limit, share, count }: { limit: number; share: number; count: number },
      claim: Claim,
    ): Promise<ClaimedJob[]> {
      return claimHeads(
        `select heads.id from unnest(cast(:tenantIds as integer[])) with ordinality as listed (tenant, place) cross join lateral (
           select oldest.id, row_number() over (order by oldest.id) as turn from (
             ${dueHeads('and jobs.tenant_id = tenant')} order by id limit least(cast(:share as integer), greatest(0, :limit - (
               select count(*) from jobs where kind = :kind and state = 'running' and tenant_id = tenant)))
           ) as oldest
         ) as heads order by heads.turn, listed.place limit :count`,
        { tenantIds, limit, share, count, ...claim },
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
