import type { Logger } from '@parley/kernel/log';
import type { Part } from '@parley/kernel/unit';
import type { Database } from '../database/types.ts';
import type { JobClaimer } from './job-claimer.ts';
import type { JobNotifier } from './job-types.ts';

/** How jobs of one kind are run. */
export interface RunnerOptions {
  database: Database;
  kind: string;
  /** How many jobs this process does at once. */
  concurrency: number;
  /**
   * How many jobs of one tenant may run at once over all replicas, so that nobody's load takes all places; beyond it, and where
   * places are short, tenants are served in turn. A kind without a limit says why nobody can wait long for it; its jobs are
   * claimed in the order of their ids.
   */
  perTenantLimit: number | { unlimitedBecause: string };
  /**
   * How long a process may be silent until another with a free place has its jobs, in ms, the search for them included: their
   * leases are that much shorter (`lease-times.ts`), and renewed three times in their course. Default 30 s.
   */
  leaseMs?: number | undefined;
  /** How many attempts a job has; a handover begins a new one, but never exhausts the job. Default 3. */
  maxAttempts?: number | undefined;
  /** Whether a job whose handler threw this may be tried again. Default: always. */
  retryable?: ((error: unknown) => boolean) | undefined;
  /** How long a job waits after so many failed attempts, in ms. Default: 1 s, doubled up to 60 s, less up to a half. */
  backoffMs?: ((attempt: number) => number) | undefined;
  /** How often to look for jobs that nobody claimed and leases that ran out, in ms. Default 1.5 s, less for short leases. */
  searchIntervalMs?: number | undefined;
  /** How long `stop` waits for jobs to end before it hands them over, in ms. Default 15 s. */
  stopGraceMs?: number | undefined;
  /**
   * No other process works on this database, as the lock of the embedded data folder proves: at start all leases of
   * others are void, and their jobs are taken over at once. Default false.
   */
  soleOwner?: boolean | undefined;
  /** Carries cancellations to other replicas at once. */
  notifier?: JobNotifier | undefined;
  log: Logger;
}

/** The jobs of one kind, done in this process from `start` to `stop`. */
export interface JobRunner extends Part, JobClaimer {
  /** Jobs that run in this process. */
  readonly running: number;
  /** How long the oldest runnable job has waited for a place, in ms, as last seen by the search. */
  readonly queuedAgeMs: number;
}
