import type { Knex } from 'knex';
import type { Job } from './job-types.ts';

/** A job that somebody holds, and by which token. */
export interface ClaimedJob extends Job {
  /** Fences the lease: every claim has a token of its own. */
  token: string;
  cancelRequested: boolean;
  /** W3C trace context of who appended it. */
  traceparent: string | undefined;
}

/** What identifies a lease in the database. */
export type LeaseKey = Pick<ClaimedJob, 'id' | 'token'>;

export interface Claim {
  owner: string;
  leaseMs: number;
}

interface ClaimedRow {
  id: string;
  kind: string;
  key: string;
  tenant_id: number | null;
  payload: unknown;
  attempt: number;
  lease_token: string;
  cancel_requested: boolean;
  traceparent: string | null;
}

const columns = [
  'id',
  'kind',
  'key',
  'tenant_id',
  'payload',
  'attempt',
  'lease_token',
  'cancel_requested',
  'traceparent',
];
const claimedColumns = columns.map((column) => `jobs.${column}`).join(', ');

const lease = `lease_owner = :owner, lease_token = gen_random_uuid(),
  lease_until = parley_now() + cast(:leaseMs as integer) * interval '1 millisecond'`;

/** How many running jobs below a tenant's limit its exact count begins, see `tenantLimit` in `append-job.ts`. */
export const limitMargin = 32;

/** How many jobs of one tenant a search claims at once; with the appends under way it stays below the margin. */
const tenantBatch = 16;

export function fromRow(row: ClaimedRow): ClaimedJob {
  return {
    id: Number(row.id),
    kind: row.kind,
    key: row.key,
    tenantId: row.tenant_id ?? undefined,
    data: row.payload,
    attempt: row.attempt,
    token: row.lease_token,
    cancelRequested: row.cancel_requested,
    traceparent: row.traceparent ?? undefined,
  };
}

/** The rows of one kind: what the holder of leases and the search for jobs ask. */
export function jobsStore(knex: Knex.Transaction, kind: string) {
  async function rows<Row>(sql: string, values: Record<string, Knex.RawBinding>): Promise<Row[]> {
    const result: { rows: Row[] } = await knex.raw(sql, values);
    return result.rows;
  }
  const byLease = `jobs.id = any(cast(:ids as bigint[])) and lease_token = any(cast(:tokens as uuid[]))`;
  const keysOf = (leases: LeaseKey[]) => ({
    ids: leases.map(({ id }) => id),
    tokens: leases.map(({ token }) => token),
  });

  return {
    /** Removes a finished job, or keeps it as failed. False: the lease is somebody else's, or (`expired`) renewed. */
    async end({ id, token }: LeaseKey, { expired = false, error }: { expired?: boolean; error?: string } = {}) {
      // FOR UPDATE waits for an append of this key, which holds the row FOR KEY SHARE, so that `claimNext` sees its job.
      const mine = `select id from jobs where id = :id and lease_token = :token
        ${expired ? 'and lease_until < parley_now()' : ''} for update`;
      const ended = await rows(
        error === undefined
          ? `delete from jobs where id in (${mine}) returning id`
          : `update jobs set state = 'failed', error = :error, lease_owner = null, lease_token = null, lease_until = null
               where id in (${mine}) returning id`,
        { id, token, error: error ?? null },
      );
      return ended.length === 1;
    },

    /**
     * Claims the first waiting job of the key of a job that has just ended, which leaves the tenant's count as it was.
     * `waiting`: others may be runnable now. Never waits for a lock: who holds the row removes or claims it.
     */
    async claimNext(
      { key, tenantId = null }: { key: string; tenantId: number | undefined | null },
      claim: Claim,
      limit: number | undefined,
    ) {
      const [row] = await rows<Partial<ClaimedRow> & { waiting: boolean }>(
        `with head as (
           select id from jobs
           where id = (select id from jobs where kind = :kind and key = :key and state = 'queued' order by id limit 1)
             and state = 'queued' and run_at <= parley_now() and tenant_id is not distinct from cast(:tenantId as integer)
           for update skip locked
         ), claimed as (
           update jobs set state = 'running', attempt = attempt + 1, ${lease} from head where jobs.id = head.id
           returning ${claimedColumns}
         )
         select claimed.*,
           exists (select 1 from jobs where kind = :kind and state = 'queued' and run_at <= parley_now())
           or (cast(:nearly as integer) is not null and (
             select count(*) from jobs where kind = :kind and tenant_id = cast(:tenantId as integer) and state = 'running'
           ) >= cast(:nearly as integer)) as waiting
         from (values (1)) as one left join claimed on true`,
        { kind, key, tenantId, nearly: limit === undefined ? null : Math.max(limit - limitMargin, 0), ...claim },
      );
      return { next: isClaimed(row) ? fromRow(row) : undefined, waiting: row?.waiting === true };
    },

    /** Puts leases back into the queue, to be run after `delayMs`. Their attempts stay counted. */
    async release(leases: LeaseKey[], delayMs: number): Promise<void> {
      await rows(
        `update jobs set state = 'queued', run_at = parley_now() + cast(:delayMs as integer) * interval '1 millisecond',
           lease_owner = null, lease_token = null, lease_until = null where ${byLease}`,
        { ...keysOf(leases), delayMs },
      );
    },

    /**
     * Lengthens leases. `renewed`: those that were; `kept`: those whose row somebody (we, completing) has locked just
     * now; the others are lost. Both name the ones to be cancelled.
     */
    async renew(leases: LeaseKey[], leaseMs: number) {
      type Row = { lease_token: string; cancel_requested: boolean };
      const renewed = await rows<Row>(
        `with mine as (select id from jobs where ${byLease} for no key update skip locked)
         update jobs set lease_until = parley_now() + cast(:leaseMs as integer) * interval '1 millisecond'
         from mine where jobs.id = mine.id returning lease_token, cancel_requested`,
        { ...keysOf(leases), leaseMs },
      );
      const missing = leases.filter(({ token }) => !renewed.some(({ lease_token }) => lease_token === token));
      const kept =
        missing.length === 0
          ? []
          : await rows<Row>(`select lease_token, cancel_requested from jobs where ${byLease}`, keysOf(missing));
      return {
        renewed: new Set(renewed.map(({ lease_token }) => lease_token)),
        kept: new Set(kept.map(({ lease_token }) => lease_token)),
        cancelled: [...renewed, ...kept]
          .filter(({ cancel_requested }) => cancel_requested)
          .map(({ lease_token }) => lease_token),
      };
    },

    /** Voids the leases of all others: for whoever knows that it runs alone. */
    async voidLeasesOfOthers(owner: string): Promise<void> {
      await rows(
        `update jobs set lease_until = '-infinity' where kind = :kind and state = 'running' and lease_owner is distinct from :owner`,
        { kind, owner },
      );
    },

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
           order by id limit :count for update skip locked
         )
         update jobs set attempt = attempt + 1, ${lease} from lost where jobs.id = lost.id returning ${claimedColumns}`,
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

  /** SKIP LOCKED and the state looked at again keep two searches from taking the same job. */
  async function claimHeads(heads: string, values: Record<string, Knex.RawBinding>): Promise<ClaimedJob[]> {
    const claimed = await rows<ClaimedRow>(
      `with heads as materialized (${heads}), free as (
         select id from jobs where id in (select id from heads) and state = 'queued' for update skip locked
       )
       update jobs set state = 'running', attempt = attempt + 1, ${lease} from free where jobs.id = free.id
       returning ${claimedColumns}`,
      { kind, ...values },
    );
    return claimed.map(fromRow).toSorted((a, b) => a.id - b.id);
  }
}

/** The first half of the advisory lock's key; the tenant's id is the other. */
export const limitLock = `hashtext(current_schema() || '.jobs.' || :kind)`;

function dueHeads(condition: string): string {
  return `select jobs.id from jobs
    where jobs.kind = :kind and jobs.state = 'queued' and jobs.run_at <= parley_now() ${condition}
      and not exists (select 1 from jobs as other where other.kind = :kind and other.key = jobs.key and other.state = 'running')
      and not exists (
        select 1 from jobs as other
        where other.kind = :kind and other.key = jobs.key and other.state = 'queued' and other.id < jobs.id
      )`;
}

function isClaimed(row: Partial<ClaimedRow> | undefined): row is ClaimedRow {
  return row?.id !== undefined && row.id !== null;
}
