import type { Logger } from '@parley/kernel/log';
import type { Part } from '@parley/kernel/unit';
import type { Database } from '../database/types.ts';
import type { JobClaimer } from './job-claimer.ts';
import type { JobNotifier } from './job-types.ts';

/** How jobs of one kind are run. */
export interface RunnerOptions {
  database: Database;
  kind: string;
  /** How many jobs this process runs at once: its slots. */
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
  /** How many attempts a job has. A handover begins a new one but never exhausts the job. Default 3. */
  maxAttempts?: number | undefined;
  /** Whether to retry a job whose handler threw this error. Default: always. */
  retryable?: ((error: unknown) => boolean) | undefined;
  /** The delay after the given failed attempt (1, 2, …), in ms. Default: 1 s, doubled up to 60 s, randomly halved at most. */
  backoffMs?: ((attempt: number) => number) | undefined;
  /** The interval of searches for unclaimed jobs and expired leases, in ms. Default 1.5 s, less for short leases. */
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
  log: Logger;
}

/** Runs the jobs of one kind in this process from `start` to `stop`. */
export interface JobRunner extends Part, JobClaimer {
  /** Jobs that run in this process. */
  readonly running: number;
}
