import { context, propagation } from '@opentelemetry/api';
import { checkedTenantOrNone } from '../database/identifiers.ts';
import type { JobClaimer, SharedDb, TenantDb } from '../database/types.ts';
import { appendJob } from './append-job.ts';
import { wakeOf } from './job-claimer.ts';

/** A job to append. The payload is stored in plain text, so encrypt secrets first. */
export interface NewJob<Data = unknown> {
  /** The kind, as registered by its runner: `<service>.<what>`. */
  kind: string;
  /** Jobs of one kind and key run one at a time and in order. A key belongs to one tenant. */
  key: string;
  /** The data for the handler, any value that JSON can represent. */
  data: Data;
  /** Delay in ms from now by the database's clock. Later jobs of the key wait for this job. Default 0. */
  delayMs?: number | undefined;
  /** The result of the runner's `prepare`, if the caller already has it; `prepare` is not called then. */
  prepared?: unknown;
}

/**
 * The tenant of a job. In a tenant's transaction the job belongs to that tenant; in a shared transaction the job has to name its tenant, or
 * `noTenant`.
 */
export type TenantOfJob<Db> = Db extends { tenantId: number } ? { tenantId?: undefined } : { tenantId: number };

export interface AppendedJob {
  id: number;
  /** Whether the job was claimed in this transaction and starts in this process right after the commit. Otherwise the job is queued. */
  claimed: boolean;
  /**
   * Number of jobs of the key that were queued before the appended job, not counting the running job. If the queue is too long, throw an
   * error, which rolls the append back.
   */
  ahead: number;
}

/** A job that has begun and waits for another attempt; it may have a partial result. */
const waitsAgain = `(state = 'queued' and attempt > 0)`;

/**
 * The job queue of the service that owns `db`. A job commits with the rest of the transaction. The runner of its kind in this process
 * claims the job when it is appended. Without a free slot the job is queued: this runner is woken after the commit, or another replica
 * finds the job.
 */
export function jobs<Db extends TenantDb | SharedDb>(db: Db) {
  const ownTenantId = 'tenantId' in db ? db.tenantId : undefined;
  const ofTenant = ownTenantId === undefined ? '' : 'and tenant_id = :tenantId';

  function runnerOf(kind: string): JobClaimer {
    const runner = db.registry.runners.get(kind);
    if (runner) return runner;
    const known = [...db.registry.runners.keys()].join(', ') || 'none';
    throw new Error(`No runner is registered for jobs of the kind ${kind}; registered kinds: ${known}`);
  }

  return {
    /**
     * Appends a job.
     * @throws Error if no runner of the kind is registered with the service
     * @throws TypeError for a job without a tenant
     */
    async append<Data>(newJob: NewJob<Data> & TenantOfJob<Db>): Promise<AppendedJob> {
      const { kind, key, data, delayMs = 0 }: NewJob<Data> = newJob;
      const runner = runnerOf(kind);
      const tenantId = ownTenantId ?? newJob.tenantId;
      if (tenantId === undefined) throw new TypeError(`a job of the kind ${kind} belongs to no tenant`);
      checkedTenantOrNone(tenantId);
      const payload = JSON.stringify(data ?? null);
      const carrier: { traceparent?: string } = {};
      propagation.inject(context.active(), carrier);
      const { traceparent = null } = carrier;

      const claimedAtMs = performance.now();
      const slot = delayMs > 0 ? undefined : runner.reserve(db.knex);
      const row = { kind, key, tenantId, payload, delayMs, traceparent };
      try {
        const { id, token, ahead, behindRunning } = await appendJob(db.knex, row, slot && runner);
        if (slot && token !== null) {
          const job = {
            id,
            kind,
            key,
            tenantId,
            data: JSON.parse(payload),
            attempt: 1,
            token,
            cancelRequested: false,
            traceparent,
          };
          const prepared = newJob.prepared ?? (await runner.prepare(db, job));
          db.afterCommit(() => {
            slot.use();
            runner.begin(job, { claimedAtMs, prepared });
          });
          return { id, claimed: true, ahead };
        }
        slot?.free();
        // The condition that prevented the claim may have ended in a concurrent transaction, so a search runs after the commit. Behind a
        // running job no search is needed, because its completion waits for this transaction.
        if (!behindRunning) db.wake(wakeOf(kind));
        return { id, claimed: false, ahead };
      } catch (error) {
        slot?.free();
        throw error;
      }
    },

    /**
     * Cancels a job: with an `id`, the job with this id; with a `key`, the job of this key that has begun. A job that has begun runs or
     * waits for its next attempt. The signal of a running job is aborted with `JobCancelled`: at once in this process; in another process
     * by the notifier or at the next renewal of the lease. A waiting job starts with an aborted signal, and starts at once if it has begun
     * before. In both cases the handler ends the job.
     * @returns whether there was such a job.
     */
    async cancel(which: { kind: string; key: string } | { id: number }): Promise<boolean> {
      const condition =
        'id' in which
          ? `id = :id and state <> 'failed'`
          : `kind = :kind and key = :key and (state = 'running' or ${waitsAgain})`;
      const { rows }: { rows: { kind: string; state: string; token: string | null }[] } = await db.knex.raw(
        `update jobs set cancel_requested = true, run_at = case when ${waitsAgain} then parley_now() else run_at end
          where ${condition} ${ofTenant} returning kind, state, lease_token as token`,
        { ...which, ...(ownTenantId !== undefined && { tenantId: ownTenantId }) },
      );
      for (const { kind, state, token } of rows) {
        if (state === 'queued') db.wake(wakeOf(kind));
        if (token !== null) db.afterCommit(() => db.registry.runners.get(kind)?.cancelled(token));
      }
      return rows.length > 0;
    },

    /**
     * Deletes the jobs of a key that are not running, and returns their data in order. With `notBegun`, jobs that wait for another attempt
     * are kept. To end all jobs of a key, call this before `cancel`, so that a job that is claimed between the two calls is cancelled.
     */
    async removeQueued(
      kind: string,
      key: string,
      { notBegun = false }: { notBegun?: boolean } = {},
    ): Promise<{ id: number; data: unknown }[]> {
      const { rows }: { rows: { id: number; data: unknown }[] } = await db.knex.raw(
        `delete from jobs where kind = :kind and key = :key and state = 'queued' ${notBegun ? 'and attempt = 0' : ''} ${ofTenant}
         returning id, payload as data`,
        { kind, key, ...(ownTenantId !== undefined && { tenantId: ownTenantId }) },
      );
      return rows.toSorted((a, b) => a.id - b.id);
    },

    /**
     * Makes delayed jobs of a kind runnable at once; in a tenant's transaction only the jobs of the tenant. Call it when the reason for the
     * delay has ended.
     * @returns the number of these jobs
     */
    async runDelayedNow(kind: string): Promise<number> {
      const { rows } = await db.knex.raw(
        `update jobs set run_at = parley_now() where kind = :kind and state = 'queued' and run_at > parley_now() ${ofTenant}
         returning id`,
        { kind, ...(ownTenantId !== undefined && { tenantId: ownTenantId }) },
      );
      if (rows.length > 0) db.wake(wakeOf(kind));
      return rows.length;
    },
  };
}
