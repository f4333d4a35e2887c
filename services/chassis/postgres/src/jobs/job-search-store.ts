import type { Knex } from 'knex';
import { rowsBy } from '../database/rows.ts';
import { type Claim, type ClaimedJob, claimedColumns, leaseAssignments, limitLock } from './job-rows.ts';

/** The largest tenant id. */
const maxTenantId = 2_147_483_647;

/** Maximum number of due jobs that are examined one by one. */
const fewDue = 500;

/**
 * The condition of the partial index for waiting jobs without a delay. It does not use `state = 'queued'`, so that the planner cannot
 * choose another index because of its statistics.
 */
const atOnce = `jobs.state <> 'running' and jobs.state <> 'failed' and jobs.run_at <= jobs.created_at`;
/** The condition of the partial index for waiting jobs with a delay. */
const afterDelay = `jobs.state <> 'running' and jobs.state <> 'failed' and jobs.run_at > jobs.created_at`;

/** Query for few due jobs. It returns the number of due jobs, and the tenants below their limit with a job that can run. */
const tenantsOfFewSql = `
  with due as materialized (
    select id, key, tenant_id from jobs
    where kind = :kind and state = 'queued' and run_at <= parley_now() and tenant_id is not null order by run_at limit :max
  ), able as (
    select distinct tenant_id from due
    where (select count(*) from due) < :max
      and ${isFree('due')}
  )
  select (select cast(count(*) as integer) from due) as due, array(
    select tenant_id from able
    where (select count(*) from jobs where kind = :kind and state = 'running' and jobs.tenant_id = able.tenant_id) < :limit
    order by tenant_id
  ) as tenants`;

interface Walk {
  name: string;
  /** The condition of the walk's partial index. */
  of: string;
  /** The order of the walk's partial index, which starts with the tenant. */
  order: string;
  /** The condition for the next row of the same tenant. */
  next: string;
  /** Whether a row is due. The first row that is not due ends the walk through its tenant. */
  due: string;
}

/**
 * Two index walks (loose index scans) through waiting jobs, one look-up per step. The walk through jobs without a delay goes from the first
 * job of a key to the first job of the next key, so jobs behind a blocked key cost nothing. The walk through delayed jobs goes by time
 * until the first job that is not due, so jobs that are not due cost one step per tenant.
 */
const walks: Walk[] = [
  {
    name: 'at_once',
    of: atOnce,
    order: 'jobs.tenant_id, jobs.key, jobs.id',
    next: 'jobs.key > walk.key',
    due: 'true',
  },
  {
    name: 'delayed',
    of: afterDelay,
    order: 'jobs.tenant_id, jobs.run_at, jobs.id',
    next: '(jobs.run_at, jobs.id) > (walk.run_at, walk.id)',
    due: 'job.run_at <= (select parley_now())',
  },
];

/** Returns SQL for one step of a walk: the first job that meets a condition. */
function firstSql({ of, order }: Walk, condition: string): string {
  return `(
      select jobs.tenant_id, jobs.key, jobs.run_at, jobs.id from jobs
      where ${condition} and jobs.kind = :kind and ${of} order by ${order} limit 1)`;
}

/** Returns the columns of a step. */
function seenSql({ due }: Walk): string {
  return `job.tenant_id, job.key, job.run_at, job.id, ${due} as is_due, ${due} and ${isFree('job')} as can_run`;
}

/**
 * Returns SQL for the walk that finds tenants with a runnable job. At a tenant's first runnable job, the walk continues with the next
 * tenant.
 */
function tenantsWalkSql(walk: Walk): string {
  return `${walk.name} as (
    select ${seenSql(walk)}
    from ${firstSql(walk, 'jobs.tenant_id > cast(:from as integer) and jobs.tenant_id <= cast(:upTo as integer)')} as job
    union all
    select ${seenSql(walk)} from ${walk.name} as walk cross join lateral (
      ${firstSql(walk, `walk.is_due and not walk.can_run and jobs.tenant_id = walk.tenant_id and ${walk.next}`)}
      union all
      ${firstSql(walk, 'jobs.tenant_id > walk.tenant_id and jobs.tenant_id <= cast(:upTo as integer)')}
      limit 1
    ) as job)`;
}

/**
 * Returns SQL for the walk that finds runnable jobs of one tenant.
 * @param begins an SQL condition; if it is false, the walk finds nothing.
 */
function jobsWalkSql(walk: Walk, tenant: string, begins: string): string {
  return `${walk.name} as (
    select ${seenSql(walk)} from ${firstSql(walk, `${begins} and jobs.tenant_id = ${tenant}`)} as job
    union all
    select ${seenSql(walk)} from ${walk.name} as walk
    cross join lateral ${firstSql(walk, `walk.is_due and jobs.tenant_id = ${tenant} and ${walk.next}`)} as job)`;
}

/** Query for many due jobs. PostgreSQL evaluates recursive queries lazily, so the walks stop when the limit is reached. */
const tenantsOfManySql = `
  with recursive ${walks.map(tenantsWalkSql).join(',')},
    found as (${walks.map(({ name }) => belowLimitSql(name)).join(' union ')})
  select tenant_id from found order by tenant_id limit :max`;

/** Number of a tenant's oldest waiting jobs that are examined before its index walk. */
const oldestExamined = 100;

/**
 * Returns SQL for a tenant's runnable jobs: those among its `oldestExamined` oldest jobs and, if these are too few, the first ones that a
 * walk finds, because all the oldest jobs may wait behind running jobs.
 */
function headsOfTenantSql(tenant: string): string {
  const some = 'cast(:share as integer)';
  return `
    with recursive oldest as materialized (
      select job.id from (
        select jobs.id, jobs.key, jobs.run_at from jobs
        where jobs.kind = :kind and jobs.tenant_id = ${tenant} and jobs.state = 'queued'
        order by jobs.kind, jobs.tenant_id, jobs.id limit ${oldestExamined}
      ) as job
      where job.run_at <= parley_now() and ${isFree('job')} order by job.id limit ${some}
    ), ${walks.map((walk) => jobsWalkSql(walk, tenant, `(select count(*) from oldest) < ${some}`)).join(',')}
    select id from oldest
    ${walks.map(({ name }) => `union (select id from ${name} where can_run limit ${some})`).join(' ')}`;
}

/** Returns SQL for the first tenants that a walk has found and that are below their limit. */
function belowLimitSql(walk: string): string {
  return `(
    select tenant_id from ${walk}
    where can_run
      and (select count(*) from jobs where kind = :kind and state = 'running' and jobs.tenant_id = ${walk}.tenant_id) < :limit
    limit :max)`;
}

/**
 * Returns an SQL condition that is true if no job of the key runs and none waits before this one. It uses two look-ups, because a join may
 * read all waiting jobs.
 */
function isFree(job: string): string {
  return `(select other.id from jobs as other where other.kind = :kind and other.key = ${job}.key and other.state = 'running'
        limit 1) is null
      and (select other.id from jobs as other where other.kind = :kind and other.key = ${job}.key and other.state = 'queued'
        order by other.kind, other.key, other.id limit 1) = ${job}.id`;
}

/** The queries of the search, which finds jobs of one kind that no process runs. */
export function jobSearchStore(knex: Knex.Transaction, kind: string) {
  const rows = rowsBy(knex);

  return {
    /** Reports whether there are jobs to run, by three index look-ups. Times are in ms from now. */
    async look() {
      const [row] = await rows<{ expired: boolean; oldestDueMs: number | null; nextDueMs: number | null }>(
        `select
           exists (select 1 from jobs where kind = :kind and state = 'running' and lease_until < parley_now()) as expired,
           cast(extract(epoch from (select min(run_at) from jobs
             where kind = :kind and state = 'queued' and run_at <= parley_now()) - parley_now()) * 1000 as float8) as oldest_due_ms,
           cast(extract(epoch from (select min(run_at) from jobs
             where kind = :kind and state = 'queued' and run_at > parley_now()) - parley_now()) * 1000 as float8) as next_due_ms`,
        { kind },
      );
      return {
        expired: row?.expired === true,
        oldestDueMs: row?.oldestDueMs ?? undefined,
        nextDueMs: row?.nextDueMs ?? undefined,
      };
    },

    /** Takes over jobs whose lease has expired and that have attempts left. */
    async takeOver(claim: Claim, maxAttempts: number, count: number): Promise<ClaimedJob[]> {
      return rows<ClaimedJob>(
        `with lost as (
           select id from jobs
           where kind = :kind and state = 'running' and lease_until < parley_now() and attempt < :maxAttempts
           order by id limit :count for no key update skip locked
         )
         update jobs set attempt = attempt + 1, ${leaseAssignments} from lost where jobs.id = lost.id returning ${claimedColumns}`,
        { kind, maxAttempts, count, ...claim },
      );
    },

    /** Returns jobs whose lease has expired at their last attempt. */
    async findExhausted(maxAttempts: number): Promise<ClaimedJob[]> {
      return rows<ClaimedJob>(
        `select ${claimedColumns} from jobs
         where kind = :kind and state = 'running' and lease_until < parley_now() and attempt >= :maxAttempts
         order by id limit 20`,
        { kind, maxAttempts },
      );
    },

    /**
     * Returns tenants below their limit with a runnable job, ordered by id, beginning after `after` and wrapping around. Passing the last
     * tenant served as `after` gives round robin.
     */
    async listTenantsBelowLimit(limit: number, after: number, count: number): Promise<number[]> {
      const [seen] = await rows<{ due: number; tenants: number[] }>(tenantsOfFewSql, { kind, limit, max: fewDue + 1 });
      if (seen && seen.due <= fewDue) {
        const ordered = [...seen.tenants.filter((id) => id > after), ...seen.tenants.filter((id) => id <= after)];
        return ordered.slice(0, count);
      }
      const listed = await tenantsBetween(after, maxTenantId, count);
      return listed.length < count ? [...listed, ...(await tenantsBetween(0, after, count - listed.length))] : listed;

      async function tenantsBetween(from: number, upTo: number, max: number): Promise<number[]> {
        const tenants = await rows<{ tenantId: number }>(tenantsOfManySql, { kind, limit, from, upTo, max });
        return tenants.map(({ tenantId }) => tenantId);
      }
    },

    /** Prevents other transactions from claiming jobs of these tenants until this one ends. */
    async lockTenants(tenantIds: number[]): Promise<void> {
      // Tenants are locked in order, and before any row, to prevent deadlocks.
      const sorted = tenantIds.toSorted((a, b) => a - b);
      await rows(
        `select pg_advisory_xact_lock(${limitLock}, tenant) from unnest(cast(:sorted as integer[])) as tenant`,
        {
          kind,
          sorted,
        },
      );
    },

    /** Locks one tenant as `lockTenants` does, but does not wait. Resolves to true if this transaction got the lock. */
    async tryLockTenant(tenantId: number): Promise<boolean> {
      const [row] = await rows<{ locked: boolean }>(
        `select pg_try_advisory_xact_lock(${limitLock}, cast(:tenantId as integer)) as locked`,
        { kind, tenantId },
      );
      return row?.locked === true;
    },

    /**
     * Claims runnable jobs of locked tenants up to their limit: the oldest job of each tenant in the given order, then the second of each,
     * up to `share` per tenant.
     */
    async claimOfTenants(
      tenantIds: number[],
      { limit, share, count }: { limit: number; share: number; count: number },
      claim: Claim,
    ): Promise<ClaimedJob[]> {
      return claimHeads(
        `select heads.id from unnest(cast(:tenantIds as integer[])) with ordinality as listed (tenant, place) cross join lateral (
           select oldest.id, row_number() over (order by oldest.id) as turn from (
             ${headsOfTenantSql('listed.tenant')} order by id limit least(cast(:share as integer), greatest(0, :limit - (
               select count(*) from jobs where kind = :kind and state = 'running' and tenant_id = listed.tenant)))
           ) as oldest
         ) as heads order by heads.turn, listed.place limit :count`,
        { tenantIds, limit, share, count, ...claim },
      );
    },

    /** Claims runnable jobs, beginning with the one that has been due longest. */
    async claimAny(claim: Claim, count: number): Promise<ClaimedJob[]> {
      // This is the order of the index `jobs_due`, so the query stops at the limit regardless of the number of due jobs.
      return claimHeads(`${dueHeads} order by jobs.kind, jobs.run_at limit :count`, {
        count,
        ...claim,
      });
    },
  };

  /**
   * SKIP LOCKED and the repeated check of the state prevent two searches from claiming the same job. NO KEY is used because a concurrent
   * append behind a job locks that job FOR KEY SHARE. Such a job must not be skipped, because the append wakes no search when it commits.
   */
  async function claimHeads(heads: string, values: Record<string, Knex.RawBinding>): Promise<ClaimedJob[]> {
    const claimed = await rows<ClaimedJob>(
      `with heads as materialized (${heads}), free as (
         select id from jobs where id in (select id from heads) and state = 'queued' for no key update skip locked
       )
       update jobs set state = 'running', attempt = attempt + 1, ${leaseAssignments} from free where jobs.id = free.id
       returning ${claimedColumns}`,
      { kind, ...values },
    );
    return claimed.toSorted((a, b) => a.id - b.id);
  }
}

const dueHeads = `select jobs.id from jobs
    where jobs.kind = :kind and jobs.state = 'queued' and jobs.run_at <= parley_now() and ${isFree('jobs')}`;
