import type { Part } from '@parley/kernel/processes/unit';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { Database, JobClaimer, TenantDb } from '../database/types.ts';
import type { TenantJob } from './job-rows.ts';
import type { JobNotifier, JobRun } from './job-types.ts';

/** How jobs of one kind are run. */
export interface RunnerOptions {
  database: Database;
  kind: string;
  /** Number of slots of this process, the maximum number of its concurrent jobs. */
  concurrency: number;
  /**
   * Maximum number of running jobs of one tenant, on all replicas together, so that no tenant takes all slots. When slots are scarce,
   * tenants are served round robin. A kind without a limit states the reason; its jobs are claimed in the order in which they became due.
   */
  perTenantLimit: number | { unlimitedBecause: string };
  /**
   * Maximum time in ms until a process with a free slot has taken over the jobs of a dead process. Leases are shorter than this by the
   * duration of the search (`lease-times.ts`), and are renewed after a third of their length. Default 30 s.
   */
  leaseMs?: number | undefined;
  /**
   * Maximum attempts of a job. `untilDone`: unlimited, for a job that must eventually succeed despite outages, or that limits its
   * attempts itself. A handover begins an attempt but never exhausts the job. Default 3.
   */
  retry?: 'untilDone' | { maxAttempts: number } | undefined;
  /** Whether to retry a job whose handler threw this error. Default: always, as often as `retry` allows. */
  retryable?: ((error: unknown) => boolean) | undefined;
  /** The delay after the given failed attempt (1, 2, …), in ms. Default: 1 s, doubled up to 60 s, shortened at random by at most half. */
  backoffMs?: ((attempt: number) => number) | undefined;
  /** The interval of searches for unclaimed jobs and expired leases, in ms. Default 1.5 s, less for short leases; 10 s for a sole owner. */
  searchIntervalMs?: number | undefined;
  /** How long `stop` waits for jobs to end before it hands them over, in ms. Default 15 s. */
  stopGraceMs?: number | undefined;
  /**
   * Whether this process is the only one that uses this database, as the lock of the embedded data folder guarantees. `start` then expires
   * the leases of all other owners, so that their jobs are taken over at once. Default false.
   */
  soleOwner?: boolean | undefined;
  /** Carries cancellations to other replicas at once. */
  notifier?: JobNotifier | undefined;
  /** Called when an attempt has failed: the job is `retried`, or `given_up` permanently. */
  onFailure?: ((outcome: JobFailure) => void) | undefined;
  log: Logger;
}

export type JobFailure = 'retried' | 'given_up';

/**
 * Options of a runner for one kind of job.
 *
 * The handler works outside any transaction. It ends the job by `lease.complete(db)` in its own transaction, or requests another run by
 * `retryLater`. If the handler resolves without one of these calls, the runner completes the job, unless the signal was aborted with
 * `JobHandover` or `LeaseLost`. If the handler throws, the job is retried. After a cancellation, however, the job ends if the handler
 * throws an AbortError or the signal's reason.
 */
export interface JobRunnerOptions<Data, Prepared = undefined, Fetched = undefined> extends RunnerOptions {
  handler(run: JobRun<Data, Prepared>): Promise<void>;
  /**
   * Reads the data that the handler needs at its start, in the transaction that claims the job. This transaction appends the job or
   * completes the previous one. The handler then needs no transaction for these data. When this function throws, the transaction rolls
   * back.
   */
  prepare?: ((db: TenantDb, job: TenantJob<Data>) => Promise<Prepared>) | undefined;
  /**
   * Fetches, before the transaction of `onExhausted`, the data that `onExhausted` needs, e.g. from another service. If this function
   * throws, the failure of the job is recorded later.
   */
  beforeExhausted?: ((job: TenantJob<Data>) => Promise<Fetched>) | undefined;
  /**
   * Records that the job has failed permanently, in the transaction that removes the job. This function gets the error of the last attempt,
   * or `LeaseLost` if the process died during the last attempt. Without this function the job stays in the table with state `failed` and
   * the message of a `DomainError` or the name of any other error.
   */
  onExhausted?: ((db: TenantDb, job: TenantJob<Data>, error: unknown, fetched: Fetched) => Promise<void>) | undefined;
}

/** Runs the jobs of one kind in this process from `start` to `stop`. */
export interface JobRunner extends Part, JobClaimer {
  /** Number of jobs that run in this process. */
  readonly running: number;
}
