import type { Knex } from 'knex';
import { rowsBy } from '../database/rows.ts';
import { type Claim, limitLock, limitMargin } from './job-rows.ts';
import { jobSearchStore } from './job-search-store.ts';

/** The row to insert. */
export interface JobRow {
  kind: string;
  key: string;
  tenantId: number;
  /** The payload as JSON text. */
  payload: string;
  /** The delay in ms after which the job may run. */
  delayMs: number;
  traceparent: string | null;
}

/** A claim that the statement makes when it inserts the job, and the limit of running jobs per tenant. */
export interface ClaimAtAppend extends Claim {
  perTenantLimit: number | undefined;
}

export interface AppendedRow {
  id: number;
  /** The token of the job's lease; null if the job was not claimed. */
  token: string | null;
  /** Number of jobs of the key that were queued before this one, not counting the running job. */
  ahead: number;
  /** Whether a job of the key is running. Its completion will find this job. */
  behindRunning: boolean;
}

interface Outcome extends Omit<AppendedRow, 'id'> {
  verdict: 'claim' | 'queue' | 'near';
  /** The id of the inserted row; null if no row was inserted. */
  id: number | null;
}

const maxRaces = 5;

/**
 * Inserts a job. The job is claimed at once if it may run now: no job of its key is before it, and its tenant is below the limit of running
 * jobs.
 *
 * This takes one statement, except near the limit. The limit is exact, yet appends far below it do not wait for each other:
 * - While a tenant is below the limit by more than a margin, claimers share an advisory lock and count only committed rows. They cannot
 *   exceed the limit as long as fewer claimers than the margin are in flight; the connections of all replicas bound their number.
 * - Within the margin, a claimer takes the lock exclusively, so that no other claimer is in flight, and then counts in another statement.
 *   It does not wait for the lock, because its caller holds other locks. Without the lock the job stays queued for the search, which runs
 *   right after the commit.
 */
export async function appendJob(
  knex: Knex.Transaction,
  job: JobRow,
  claim: ClaimAtAppend | undefined,
): Promise<AppendedRow> {
  const limit = claim?.perTenantLimit;
  let wants = claim !== undefined;
  let exact = false;

  async function lockLimit(): Promise<void> {
    exact = await jobSearchStore(knex, job.kind).tryLockTenant(job.tenantId);
    wants = exact;
  }

  if (wants && limit !== undefined && limit <= limitMargin) await lockLimit();
  for (let races = 0; ; races += 1) {
    const { id, verdict, ...appended } = await insert(knex, job, {
      wants: wants && races < maxRaces,
      owner: claim?.owner ?? null,
      leaseMs: claim?.leaseMs ?? 0,
      ceiling: limit === undefined ? null : exact ? limit : limit - limitMargin,
      exact,
    });
    if (id !== null) return { id, ...appended };
    if (verdict === 'near') await lockLimit();
    // Any other verdict means that a concurrently appended job of the key was claimed before this insert: the next attempt queues this job
    // behind that one.
  }
}

interface Terms {
  wants: boolean;
  owner: string | null;
  leaseMs: number;
  ceiling: number | null;
  exact: boolean;
}

/**
 * FOR KEY SHARE allows renewals of the running job, but delays its removal until this transaction ends. So the completion of that job,
 * which looks for the next job of the key after the removal, sees this job.
 */
async function insert(knex: Knex.Transaction, job: JobRow, terms: Terms): Promise<Outcome> {
  const [outcome] = await rowsBy(knex)<Outcome>(
    `with running as materialized (
       select id from jobs where kind = :kind and key = :key and state = 'running' for key share
     ), seen as materialized (
       select
         (select count(*) from (
           select id from jobs where kind = :kind and key = :key and state = 'queued' order by jobs.kind, jobs.key, jobs.id
         ) as waiting) as ahead,
         exists (select 1 from running) as busy,
         parley_now() + cast(:delayMs as integer) * interval '1 millisecond' as run_at
     ), decision as materialized (
       select ahead, busy, run_at,
         case
           when not cast(:wants as boolean) or ahead > 0 or busy or run_at > parley_now() then 'queue'
           when cast(:ceiling as integer) is null then 'claim'
           when (select count(*) from jobs where kind = :kind and tenant_id = cast(:tenantId as integer) and state = 'running')
             >= cast(:ceiling as integer) then case when :exact then 'queue' else 'near' end
           when :exact then 'claim'
           when pg_try_advisory_xact_lock_shared(${limitLock}, cast(:tenantId as integer)) then 'claim'
           else 'near'
         end as verdict
       from seen
     ), added as (
       insert into jobs (kind, key, tenant_id, payload, state, attempt, run_at, created_at, traceparent,
         lease_owner, lease_token, lease_until)
       select :kind, :key, cast(:tenantId as integer), cast(:payload as jsonb), 'queued', 0, run_at, parley_now(), :traceparent,
         null, null, cast(null as timestamptz)
       from decision where verdict = 'queue'
       union all
       select :kind, :key, cast(:tenantId as integer), cast(:payload as jsonb), 'running', 1, run_at, parley_now(), :traceparent,
         :owner, gen_random_uuid(), parley_now() + cast(:leaseMs as integer) * interval '1 millisecond'
       from decision where verdict = 'claim'
       on conflict do nothing
       returning id, lease_token
     )
     select verdict, ahead, busy as behind_running, added.id, added.lease_token as token from decision left join added on true`,
    { ...job, ...terms },
  );
  if (!outcome) throw new Error('the append of a job returned no row');
  return outcome;
}
