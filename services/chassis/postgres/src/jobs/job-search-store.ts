import type { Knex } from 'knex';
import { type Claim, type ClaimedJob, claimedColumns, leaseAssignments, limitLock, rowsBy } from './job-rows.ts';

/** The greatest id that a tenant can have. */
const maxTenantId = 2_147_483_647;

/** Up to so many due jobs are looked at one by one. */
const fewDue = 500;

/**
 * The waiting jobs that could run from the first, and those that had to wait for a time, in the very words of the indexes that
 * are for them. They do not say `state = 'queued'`, so that no other index of waiting jobs is taken in their place, whatever
 * the planner knows of the table.
 */
const atOnce = `jobs.state <> 'running' and jobs.state <> 'failed' and jobs.run_at <= jobs.created_at`;
const afterDelay = `jobs.state <> 'running' and jobs.state <> 'failed' and jobs.run_at > jobs.created_at`;

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
      and ${isFree('due')}
  )
  select (select cast(count(*) as integer) from due) as due, array(
    select tenant_id from able
    where (select count(*) from jobs where kind = :kind and state = 'running' and jobs.tenant_id = able.tenant_id) < :limit
    order by tenant_id
  ) as tenants`;

interface Walk {
  name: string;
  /** The condition of the index that is walked through. */
  of: string;
  /** The order of that index: by tenant first. */
  order: string;
  /** What comes after a row, among those of its tenant. */
  next: string;
  /** Whether a row is due: the first one that is not ends its tenant. */
  due: string;
}

/**
 * Two walks through what waits, one look-up a step. Among the jobs that never had to wait for a time, from the first of a key to
 * that of the next key: a tenant's steps are as many as it has keys that cannot go on, however many jobs wait behind them. Among
 * those that had to, in the order of their times, as far as they are due: what waits for its time costs one step a tenant.
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

/** A step of a walk: the first job under a condition. */
function firstSql({ of, order }: Walk, condition: string): string {
  return `(
      select jobs.tenant_id, jobs.key, jobs.run_at, jobs.id from jobs
      where ${condition} and jobs.kind = :kind and ${of} order by ${order} limit 1)`;
}

/** What a walk sees of a job. */
function seenSql({ due }: Walk): string {
  return `job.tenant_id, job.key, job.run_at, job.id, ${due} as is_due, ${due} and ${isFree('job')} as can_run`;
}

/** The walk to the tenants that have a job which can run: from one to the next as soon as one is found. */
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

/** The walk to the jobs of one tenant that can run. @param begins whether it is walked at all. */
function jobsWalkSql(walk: Walk, tenant: string, begins: string): string {
  return `${walk.name} as (
    select ${seenSql(walk)} from ${firstSql(walk, `${begins} and jobs.tenant_id = ${tenant}`)} as job
    union all
    select ${seenSql(walk)} from ${walk.name} as walk
    cross join lateral ${firstSql(walk, `walk.is_due and jobs.tenant_id = ${tenant} and ${walk.next}`)} as job)`;
}

/** Where many are due. The walks end with the last tenant wanted, since a recursion is read lazily. */
const tenantsOfManySql = `
  with recursive ${walks.map(tenantsWalkSql).join(',')},
    found as (${walks.map(({ name }) => roomSql(name)).join(' union ')})
  select tenant_id from found order by tenant_id limit :most`;

/** Of a tenant's waiting jobs so many, the oldest, are looked at one by one before it is walked. */
const oldestLookedAt = 100;

/**
 * A tenant's due jobs that are first of their key: the oldest, where they are among its oldest jobs; else those that a walk meets
 * first, because a tenant's oldest jobs may all wait behind running ones.
 */
function headsOfTenantSql(tenant: string): string {
  const some = 'cast(:share as integer)';
  return `
    with recursive oldest as materialized (
      select job.id from (
        select jobs.id, jobs.key, jobs.run_at from jobs
        where jobs.kind = :kind and jobs.tenant_id = ${tenant} and jobs.state = 'queued'
        order by jobs.kind, jobs.tenant_id, jobs.id limit ${oldestLookedAt}
      ) as job
      where job.run_at <= parley_now() and ${isFree('job')} order by job.id limit ${some}
    ), ${walks.map((walk) => jobsWalkSql(walk, tenant, `(select count(*) from oldest) < ${some}`)).join(',')}
    select id from oldest
    ${walks.map(({ name }) => `union (select id from ${name} where can_run limit ${some})`).join(' ')}`;
}

/** The first tenants with room that a walk has found. */
function roomSql(walk: string): string {
  return `(
    select tenant_id from ${walk}
    where can_run
      and (select count(*) from jobs where kind = :kind and state = 'running' and jobs.tenant_id = ${walk}.tenant_id) < :limit
    limit :most)`;
}

/** Whether no job of the key runs or waits before this one. Two look-ups: a join could be made by reading all that waits. */
function isFree(job: string): string {
  return `(select other.id from jobs as other where other.kind = :kind and other.key = ${job}.key and other.state = 'running'
        limit 1) is null
      and (select other.id from jobs as other where other.kind = :kind and other.key = ${job}.key and other.state = 'queued'
        order by other.kind, other.key, other.id limit 1) = ${job}.id`;
}

/** What finds, among the jobs of one kind, those that nobody is at. */
export function jobSearchStore(knex: Knex.Transaction, kind: string) {
  const rows = rowsBy(knex);

  return {
    /** What there is to do, at the cost of three index look-ups. Times in ms from now. */
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

    /** Takes over jobs whose lease has run out and that may be tried again. */
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

    /** Jobs whose lease has run out once too often. */
    async findExhausted(maxAttempts: number): Promise<ClaimedJob[]> {
      return rows<ClaimedJob>(
        `select ${claimedColumns} from jobs
         where kind = :kind and state = 'running' and lease_until < parley_now() and attempt >= :maxAttempts
         order by id limit 20`,
        { kind, maxAttempts },
      );
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
        const tenants = await rows<{ tenantId: number }>(tenantsOfManySql, { kind, limit, from, upTo, most });
        return tenants.map(({ tenantId }) => tenantId);
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
             ${headsOfTenantSql('listed.tenant')} order by id limit least(cast(:share as integer), greatest(0, :limit - (
               select count(*) from jobs where kind = :kind and state = 'running' and tenant_id = listed.tenant)))
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

function dueHeads(condition: string): string {
  return `select jobs.id from jobs
    where jobs.kind = :kind and jobs.state = 'queued' and jobs.run_at <= parley_now() ${condition} and ${isFree('jobs')}`;
}
