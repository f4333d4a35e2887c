import type { Database, Transaction } from '../database/types.ts';
import type { Logger } from '../log.ts';
import type { Part } from '../unit.ts';
import type { JobClaimer } from './job-claimer.ts';

/** A job as those see it who deal with it after it was appended. */
export interface Job<Data = unknown> {
  id: number;
  kind: string;
  /** Jobs of one kind and key run one at a time, in the order in which they were appended. */
  key: string;
  /** The tenant it was appended for; undefined for what belongs to none. */
  tenantId: number | undefined;
  /** What `append` was given, after a trip through JSON. */
  data: Data;
  /** 1 at the first claim, higher after each retry, take-over or handover. */
  attempt: number;
}

export interface TenantJob<Data = unknown> extends Job<Data> {
  tenantId: number;
}

/** The right to do a job, good for as long as it is renewed. */
export interface Lease {
  /**
   * Ends the job within the transaction of its effect, so that both commit together, and claims the next job of its
   * key. Throws `LeaseLost` when somebody else has the job by now: let that roll the transaction back. Call it last: it
   * may wait for an `append` of the same key, which may itself wait for rows that this transaction has locked later.
   */
  complete(db: Transaction): Promise<void>;
}

/** What a handler is given. */
export type JobRun<Data, Prepared = undefined, J extends Job<Data> = Job<Data>> = J & {
  /** Aborted with `JobCancelled`, `JobHandover` or `LeaseLost` as `reason`. Already aborted for a job cancelled before. */
  signal: AbortSignal;
  lease: Lease;
  /** What `prepare` read in the claiming transaction; undefined when the search claimed the job (prepare it anew). */
  prepared: Prepared | undefined;
};

/** Carries cancellations between processes. Without one they take effect at the next renewal. */
export interface JobNotifier {
  publish(channel: string, message: string): Promise<unknown>;
  /** Resolves, once subscribed, with how to end it. */
  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<unknown> | void>;
}

/** What runners of a tenant's jobs and of shared jobs take alike. */
export interface RunnerOptions {
  database: Database;
  kind: string;
  /** How many jobs this process does at once. */
  concurrency: number;
  /** How many jobs of one tenant may run at once over all replicas. Default: as many as there are places. */
  perTenantLimit?: number | undefined;
  /** How long a process may be silent before another takes its jobs, in ms. Renewed every third of it. Default 30 s. */
  leaseMs?: number | undefined;
  /** How many attempts a job has; a handover begins a new one, but never exhausts the job. Default 3. */
  maxAttempts?: number | undefined;
  /** Whether a job whose handler threw this may be tried again. Default: always. */
  retryable?: ((error: unknown) => boolean) | undefined;
  /** How long a job waits after so many failed attempts, in ms. Default: 1 s, doubled up to 60 s, less up to a half. */
  backoffMs?: ((attempt: number) => number) | undefined;
  /** How often to look for jobs that nobody claimed and leases that ran out, in ms. Default 1.5 s. */
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
