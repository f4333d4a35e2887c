import type { Knex } from 'knex';
import { rowsBy } from '../database/rows.ts';
import { type Claim, type ClaimedJob, claimedColumns, leaseAssignments, limitLock } from './job-rows.ts';

/** The largest tenant id. */
const maxTenantId = 2_147_483_647;

/** Maximum number of due jobs that are examined one by one. */
const fewDue = 500;

/**
 * Waiting jobs without and with a delay, as in the conditions of the two partial indexes for them. They do not use
 * `state = 'queued'`, so that the planner cannot choose another index, whatever its statistics say.
 */
const atOnce = `jobs.state <> 'running' and jobs.state <> 'failed' and jobs.run_at <= jobs.created_at`;
const afterDelay = `jobs.state <> 'running' and jobs.state <> 'failed' and jobs.run_at > jobs.created_at`;

/**
 * For few due jobs: how many there are, and which tenants below their limit have one that can run.
 */
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
  /** The condition of its partial index. */
  of: string;
  /** The order of that index, by tenant first. */
  order: string;
  /** The condition for the next row of the same tenant. */
  next: string;
  /** Whether a row is due. The first one that is not ends the walk through its tenant. */
  due: string;
}

/**
 * Two index walks (loose index scans) through waiting jobs, one look-up per step. Among jobs without a delay it goes from the first
 * job of a key to that of the next key, so jobs behind a blocked key cost nothing. Among delayed jobs it goes by time until the
 * first that is not due, so those cost one step per tenant.
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

/** One step of a walk: the first job that meets a condition. */
function firstSql({ of, order }: Walk, condition: string): string {
  return `(
      select jobs.tenant_id, jobs.key, jobs.run_at, jobs.id from jobs
      where ${condition} and jobs.kind = :kind and ${of} order by ${order} limit 1)`;
}

/** The columns of a step. */
function seenSql({ due }: Walk): string {
  return `job.tenant_id, job.key, job.run_at, job.id, ${due} as is_due, ${due} and ${isFree('job')} as can_run`;
}

/** SQL for the walk that finds tenants with a runnable job. At a tenant's first one, it continues with the next tenant. */
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

/** The walk that finds runnable jobs of one tenant. @param begins SQL: whether to walk at all. */
function jobsWalkSql(walk: Walk, tenant: string, begins: string): string {
  return `${walk.name} as (
    select ${seenSql(walk)} from ${firstSql(walk, `${begins} and jobs.tenant_id = ${tenant}`)} as job
    union all
    select ${seenSql(walk)} from ${walk.name} as walk
    cross join lateral ${firstSql(walk, `walk.is_due and jobs.tenant_id = ${tenant} and ${walk.next}`)} as job)`;
}

/** For many due jobs. PostgreSQL evaluates recursive queries lazily, so the walks end with the limit. */
const tenantsOfManySql = `
  with recursive ${walks.map(tenantsWalkSql).join(',')},
    found as (${walks.map(({ name }) => belowLimitSql(name)).join(' union ')})
  select tenant_id from found order by tenant_id limit :max`;

/** Number of a tenant's oldest waiting jobs that are examined before its index walk. */
const oldestExamined = 100;

/**
 * A tenant's runnable jobs: the oldest, if they are among its `oldestExamined` oldest jobs; otherwise those that a walk finds
 * first, because all the oldest ones may wait behind running jobs.
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

/** The first tenants below their limit that a walk has found. */
function belowLimitSql(walk: string): string {
  return `(
    select tenant_id from ${walk}
    where can_run
      and (select count(*) from jobs where kind = :kind and state = 'running' and jobs.tenant_id = ${walk}.tenant_id) < :limit
    limit :max)`;
}

/** Whether no job of the key runs or waits before this one. Two look-ups, because a join may read all waiting jobs. */
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
    /** Whether there are jobs to run, by three index look-ups. Times in ms from now. */
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

    /** Jobs whose lease has expired at their last attempt. */
    async findExhausted(maxAttempts: number): Promise<ClaimedJob[]> {
      return rows<ClaimedJob>(
        `select ${claimedColumns} from jobs
         where kind = :kind and state = 'running' and lease_until < parley_now() and attempt >= :maxAttempts
         order by id limit 20`,
        { kind, maxAttempts },
      );
    },

    /**
     * Tenants below their limit with a runnable job, ordered by id, beginning after `after` and wrapping around: passing the
     * last tenant served gives round robin.
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
      // Sorted, and before any row lock, to prevent deadlocks.
      const sorted = tenantIds.toSorted((a, b) => a - b);
      await rows(
        `select pg_advisory_xact_lock(${limitLock}, tenant) from unnest(cast(:sorted as integer[])) as tenant`,
        {
          kind,
          sorted,
        },
      );
    },

    /** The same for one tenant, without waiting. Resolves with whether it has the lock. */
    async tryLockTenant(tenantId: number): Promise<boolean> {
      const [row] = await rows<{ locked: boolean }>(
        `select pg_try_advisory_xact_lock(${limitLock}, cast(:tenantId as integer)) as locked`,
        { kind, tenantId },
      );
      return row?.locked === true;
    },

    /**
     * Claims runnable jobs of locked tenants up to their limit: the oldest of each tenant in the order given, then the second of
     * each, up to `share` per tenant.
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

    /** Claims runnable jobs, those first that have been due for longest. */
    async claimAny(claim: Claim, count: number): Promise<ClaimedJob[]> {
      // In the order of `jobs_due`, so that it stops at the limit however many are due.
      return claimHeads(`${dueHeads} order by jobs.kind, jobs.run_at limit :count`, {
        count,
        ...claim,
      });
    },
  };

  /**
   * SKIP LOCKED and the repeated check of the state prevent two searches from claiming the same job. NO KEY, because a concurrent
   * append behind a job holds that job FOR KEY SHARE: it must not be skipped, since the append wakes nobody when it commits.
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
