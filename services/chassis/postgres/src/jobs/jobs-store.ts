import type { Knex } from 'knex';
import { rowsBy } from '../database/rows.ts';
import {
  type Claim,
  type ClaimedJob,
  claimedColumns,
  type LeaseKey,
  leaseAssignments,
  limitMargin,
} from './job-rows.ts';

/** The queries of lease holders on jobs of one kind. */
export function jobsStore(knex: Knex.Transaction, kind: string) {
  const rows = rowsBy(knex);
  const byLease = `jobs.id = any(cast(:ids as bigint[])) and lease_token = any(cast(:tokens as uuid[]))`;
  const keysOf = (leases: LeaseKey[]) => ({
    ids: leases.map(({ id }) => id),
    tokens: leases.map(({ token }) => token),
  });

  return {
    /**
     * Deletes a finished job, or keeps it as `failed`. Resolves to false if another process has the lease or, with `expired`, if the lease
     * was renewed.
     */
    async end({ id, token }: LeaseKey, { expired = false, error }: { expired?: boolean; error?: string } = {}) {
      // FOR UPDATE waits for concurrent appends of this key, which hold the row FOR KEY SHARE, so that `claimNext` sees the appended jobs.
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
     * Claims the first waiting job of a key whose running job has just ended; the tenant's number of running jobs stays the same. Also
     * returns `waiting`: whether other jobs may be runnable now. Skips a job whose row is locked: the holder of the lock deletes or claims
     * this job or, after a rollback, the search claims it.
     */
    async claimNext({ key, tenantId }: Pick<ClaimedJob, 'key' | 'tenantId'>, claim: Claim, limit: number | undefined) {
      const [row] = await rows<(ClaimedJob | { id: null }) & { waiting: boolean }>(
        `with head as (
           select id from jobs
           where id = (select id from jobs where kind = :kind and key = :key and state = 'queued' order by id limit 1)
             and state = 'queued' and run_at <= parley_now() and tenant_id is not distinct from cast(:tenantId as integer)
           for update skip locked
         ), claimed as (
           update jobs set state = 'running', attempt = attempt + 1, ${leaseAssignments} from head where jobs.id = head.id
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
      if (!row) return { next: undefined, waiting: false };
      const { waiting, ...next } = row;
      return { next: next.id === null ? undefined : next, waiting };
    },

    /** Queues jobs again, to be run after `delayMs`. Their numbers of attempts are kept. */
    async release(leases: LeaseKey[], delayMs: number): Promise<void> {
      await rows(
        `update jobs set state = 'queued', run_at = parley_now() + cast(:delayMs as integer) * interval '1 millisecond',
           lease_owner = null, lease_token = null, lease_until = null where ${byLease}`,
        { ...keysOf(leases), delayMs },
      );
    },

    /** Queues a job again as a new one, with another payload. Resolves to false if another process has the lease. */
    async restart({ id, token }: LeaseKey, payload: string, delayMs: number): Promise<boolean> {
      const restarted = await rows(
        `update jobs set state = 'queued', attempt = 0, payload = cast(:payload as jsonb),
           run_at = parley_now() + cast(:delayMs as integer) * interval '1 millisecond',
           lease_owner = null, lease_token = null, lease_until = null
         where id = :id and lease_token = :token returning id`,
        { id, token, payload, delayMs },
      );
      return restarted.length === 1;
    },

    /**
     * Renews leases. Leases whose row is locked, e.g. by a completion of this process, stay as they are.
     * @returns for the token of each renewed lease, whether its job was cancelled
     */
    async renew(leases: LeaseKey[], leaseMs: number): Promise<Map<string, boolean>> {
      return cancellationsOf(
        await rows<Held>(
          `with mine as (select id from jobs where ${byLease} for no key update skip locked)
           update jobs set lease_until = parley_now() + cast(:leaseMs as integer) * interval '1 millisecond'
           from mine where jobs.id = mine.id returning lease_token as token, cancel_requested`,
          { ...keysOf(leases), leaseMs },
        ),
      );
    },

    /** Returns the given leases that no other process has taken over: for each token, whether the job was cancelled. */
    async listHeld(leases: LeaseKey[]): Promise<Map<string, boolean>> {
      return cancellationsOf(
        await rows<Held>(`select lease_token as token, cancel_requested from jobs where ${byLease}`, keysOf(leases)),
      );
    },

    /** Expires the leases of all other owners. Call it only in a process that is certainly the only one on this database. */
    async expireOtherLeases(owner: string): Promise<void> {
      await rows(
        `update jobs set lease_until = '-infinity' where kind = :kind and state = 'running' and lease_owner is distinct from :owner`,
        { kind, owner },
      );
    },
  };
}

type Held = Pick<ClaimedJob, 'token' | 'cancelRequested'>;

function cancellationsOf(held: Held[]): Map<string, boolean> {
  return new Map(held.map(({ token, cancelRequested }) => [token, cancelRequested]));
}
