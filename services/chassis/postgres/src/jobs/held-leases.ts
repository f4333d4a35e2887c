import type { Logger } from '@parley/kernel/telemetry/log';
import type { Database } from '../database/types.ts';
import type { ClaimedJob } from './job-rows.ts';
import { JobCancelled, LeaseLost } from './job-signals.ts';
import { jobsStore } from './jobs-store.ts';

/** A job that this process runs. */
export interface HeldLease {
  job: ClaimedJob;
  controller: AbortController;
  /** The lease is certainly valid until this time of the monotonic clock. */
  deadlineMs: number;
  /** Whether the job was ended in a transaction, which may not have committed yet. */
  ending: boolean;
}

export type HeldLeases = ReturnType<typeof heldLeases>;

export interface HeldLeasesOptions {
  database: Database;
  kind: string;
  leaseMs: number;
  log: Logger;
}

/** The leases of one runner. They are renewed together, and given up when they cannot be renewed in time. */
export function heldLeases({ database, kind, leaseMs, log }: HeldLeasesOptions) {
  const held = new Map<string, HeldLease>();
  let renewing = false;
  let expiry: NodeJS.Timeout | undefined;
  /** Ends the wait for the next renewal when no lease remains. */
  let endPause: () => void = () => undefined;

  function lose(lease: HeldLease, message: string): void {
    if (!held.delete(lease.job.token)) return;
    log.warn({ kind, jobId: lease.job.id, attempt: lease.job.attempt }, message);
    lease.controller.abort(new LeaseLost());
  }

  /**
   * This watch works without the database, because a process that cannot reach the database must stop its jobs before another process takes
   * them over.
   */
  function watchDeadlines(): void {
    clearTimeout(expiry);
    const now = performance.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const lease of held.values()) {
      if (lease.deadlineMs <= now) lose(lease, 'job lease expired');
      else nextMs = Math.min(nextMs, lease.deadlineMs);
    }
    if (nextMs < Number.POSITIVE_INFINITY) expiry = setTimeout(watchDeadlines, Math.ceil(nextMs - now)).unref();
  }

  /** Aborts the job's signal; returns false if the job does not run in this process. */
  function cancel(token: string): boolean {
    const lease = held.get(token);
    lease?.controller.abort(new JobCancelled()); // has no effect on a signal that is already aborted
    return lease !== undefined;
  }

  async function renew(): Promise<void> {
    const leases = [...held.values()];
    const jobs = leases.map(({ job }) => job);
    const sentAtMs = performance.now();
    const renewed = await urgently((store) => store.renew(jobs, leaseMs));
    const missing = jobs.filter(({ token }) => !renewed.has(token));
    const kept = missing.length > 0 ? await urgently((store) => store.listHeld(missing)) : new Map();
    for (const lease of leases) {
      const { token } = lease.job;
      if (renewed.has(token)) lease.deadlineMs = sentAtMs + leaseMs;
      // If this process has just ended the job, its missing row does not mean a lost lease.
      else if (!kept.has(token) && !lease.ending) lose(lease, 'job lease taken over');
    }
    for (const [token, isCancelled] of [...renewed, ...kept]) if (isCancelled) cancel(token);
    watchDeadlines();
  }

  /** Runs `work` in one round trip, without queueing behind new work. */
  function urgently<T>(work: (store: ReturnType<typeof jobsStore>) => Promise<T>): Promise<T> {
    return database.transactShared((db) => work(jobsStore(db.knex, kind)), { isUrgent: true, commitsAtOnce: true });
  }

  /**
   * Resolves to true if the pause was ended early. This is not an abortable delay, because its AbortError would cost a stack trace per job.
   */
  function pause(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), ms).unref();
      endPause = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  async function renewWhileHeld(): Promise<void> {
    if (renewing) return;
    renewing = true;
    let failed = false;
    while (held.size > 0) {
      // A failed renewal is retried sooner, while the lease is still valid.
      const endedEarly = await pause(leaseMs / (failed ? 10 : 3));
      if (held.size === 0) break;
      if (endedEarly) continue;
      failed = await renew().then(
        () => false,
        (error: unknown) => {
          log.warn({ kind, leases: held.size, err: error }, 'job lease renewal failed; will retry');
          return true;
        },
      );
    }
    renewing = false;
  }

  return {
    get size() {
      return held.size;
    },
    list: () => [...held.values()],
    has: (lease: HeldLease) => held.get(lease.job.token) === lease,
    /** Adds a lease that was claimed at `claimedAtMs` (monotonic) or later. */
    add(job: ClaimedJob, claimedAtMs: number): HeldLease {
      const lease = { job, controller: new AbortController(), deadlineMs: claimedAtMs + leaseMs, ending: false };
      held.set(job.token, lease);
      if (job.cancelRequested) cancel(job.token);
      if (held.size === 1) watchDeadlines();
      void renewWhileHeld();
      return lease;
    },
    /** Removes a lease that has ended or that another process has taken over. */
    remove(lease: HeldLease): void {
      held.delete(lease.job.token);
      if (held.size === 0) {
        clearTimeout(expiry);
        endPause();
      }
    },
    cancel,
  };
}
