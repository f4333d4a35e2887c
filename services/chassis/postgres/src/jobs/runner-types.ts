import type { Part } from '@parley/kernel/processes/unit';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { Database, JobClaimer, TenantDb } from '../database/types.ts';
import type { TenantJob } from './job-rows.ts';
import type { JobNotifier, JobRun } from './job-types.ts';

/** How jobs of one kind are run. */
export interface RunnerOptions {
  database: Database;
  kind: string;
  /** Maximum concurrent jobs of this process: its slots. */
  concurrency: number;
  /**
   * How many jobs of one tenant may run at once on all replicas together, so that no tenant takes all slots. When slots are
   * scarce, tenants are served round robin. A kind without a limit gives the reason; its jobs are claimed by id.
   */
  perTenantLimit: number | { unlimitedBecause: string };
  /**
   * After how long a process with a free slot has taken over the jobs of a dead one, in ms. The leases are shorter than that by
   * the time of the search (`lease-times.ts`), and are renewed after a third of it. Default 30 s.
   */
  leaseMs?: number | undefined;
  /**
   * Maximum attempts of a job. `untilDone`: unlimited, for a job that must eventually succeed despite outages, or that limits its
   * attempts itself. A handover begins an attempt but never exhausts the job. Default 3.
   */
  retry?: 'untilDone' | { maxAttempts: number } | undefined;
  /** Whether to retry a job whose handler threw this error. Default: always, as often as `retry` says. */
  retryable?: ((error: unknown) => boolean) | undefined;
  /** The delay after the given failed attempt (1, 2, …), in ms. Default: 1 s, doubled up to 60 s, randomly halved at most. */
  backoffMs?: ((attempt: number) => number) | undefined;
  /** The interval of searches for unclaimed jobs and expired leases, in ms. Default 1.5 s, less for short leases; 10 s for a sole owner. */
  searchIntervalMs?: number | undefined;
  /** How long `stop` waits for jobs to end before it hands them over, in ms. Default 15 s. */
  stopGraceMs?: number | undefined;
  /**
   * No other process uses this database, as the lock of the embedded data folder guarantees: `start` expires the leases of all
   * others, so that their jobs are taken over at once. Default false.
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
 * Options of a runner for one kind of job. The handler works outside any transaction and ends the job by
 * `lease.complete(db)` in one of its own, or asks for another run by `retryLater`; if it resolves without either, the runner
 * completes the job, unless the signal was aborted with `JobHandover` or `LeaseLost`. A handler that throws is retried; after a cancellation an AbortError or the
 * signal's reason ends the job.
 */
export interface JobRunnerOptions<Data, Prepared = undefined, Fetched = undefined> extends RunnerOptions {
  handler(run: JobRun<Data, Prepared>): Promise<void>;
  /**
   * Reads what the handler needs first, in the transaction that claims the job: its append, or the completion of the job
   * before it. Saves the handler a transaction. When it throws, that transaction rolls back.
   */
  prepare?: ((db: TenantDb, job: TenantJob<Data>) => Promise<Prepared>) | undefined;
  /**
   * Fetches, before the transaction of `onExhausted`, what that needs, e.g. from another service. When it throws, the failure
   * of the job is recorded later.
   */
  beforeExhausted?: ((job: TenantJob<Data>) => Promise<Fetched>) | undefined;
  /**
   * Records, in the transaction that removes the job, that it has failed for good: with the error of its last attempt, or
   * `LeaseLost` when its process died at the last one. Without this function the job stays in the table with state `failed`
   * and the message of a `DomainError` or the name of any other error.
   */
  onExhausted?: ((db: TenantDb, job: TenantJob<Data>, error: unknown, fetched: Fetched) => Promise<void>) | undefined;
}

/** Runs the jobs of one kind in this process from `start` to `stop`. */
export interface JobRunner extends Part, JobClaimer {
  /** Jobs that run in this process. */
  readonly running: number;
}
