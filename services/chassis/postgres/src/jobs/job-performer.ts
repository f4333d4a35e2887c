import { setTimeout as delay } from 'node:timers/promises';
import { propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { isDomainError } from '@parley/kernel/errors';
import { isAbortError } from '@parley/kernel/timing/abort';
import { backoff } from '@parley/kernel/timing/backoff';
import type { TenantDb, Transaction } from '../database/types.ts';
import type { HeldLease, HeldLeases } from './held-leases.ts';
import type { ClaimedJob, TenantJob } from './job-rows.ts';
import { JobCancelled, JobHandover, LeaseLost } from './job-signals.ts';
import { jobsStore } from './jobs-store.ts';
import type { JobRunnerOptions } from './runner-types.ts';

/** How a job ends. `expired`: end the job only if its lease has expired. With an `error` the job stays in the table with state `failed`. */
export interface Ending {
  expired?: boolean;
  /**
   * Whether the caller rolls the transaction back if this job was not ended. The next job may then be claimed before it is known whether
   * this job was ended.
   */
  rollsBack?: boolean;
  error?: string;
}

export interface JobPerformerOptions<Data, Prepared, Fetched> extends JobRunnerOptions<Data, Prepared, Fetched> {
  leaseMs: number;
  maxAttempts: number;
  leases: HeldLeases;
  /** Ends a job in this transaction, and its lease after the commit. Resolves to false if another process has the job. */
  end(db: Transaction, job: ClaimedJob, ending: Ending, lease?: HeldLease): Promise<boolean>;
  /** Removes a lease whose job was not ended. */
  drop(lease: HeldLease): void;
  /** Called when a job was queued again for a retry after `delayMs`. */
  retryIn(delayMs: number): void;
  isHandedOver(): boolean;
}

const usualBackoff = backoff({ firstMs: 1_000, maxMs: 60_000, jitter: true });
const tracer = trace.getTracer('parley.jobs');

/** Transactions that end jobs do not queue behind transactions that start new ones. */
const urgent = { isUrgent: true };

/** Runs handlers and writes the outcome of each job once. */
export function jobPerformer<Data, Prepared, Fetched>(options: JobPerformerOptions<Data, Prepared, Fetched>) {
  const { database, kind, handler, beforeExhausted, onExhausted, leases, leaseMs, end, maxAttempts, log } = options;
  const { retryable = () => true, backoffMs = usualBackoff, onFailure } = options;
  const exhausting = new Set<string>();

  const typed = ({ id, kind, key, tenantId, data, attempt }: ClaimedJob): TenantJob<Data> => ({
    id,
    kind,
    key,
    tenantId,
    data: data as Data,
    attempt,
  });

  /** Returns undefined without the option prepare, and for a claim in a shared transaction, which cannot read the tenant's rows. */
  async function prepare(db: Transaction, job: ClaimedJob): Promise<Prepared | undefined> {
    return options.prepare && isOfTenant(db, job.tenantId) ? options.prepare(db, typed(job)) : undefined;
  }

  async function perform(lease: HeldLease, prepared: Prepared | undefined): Promise<void> {
    const { job, controller } = lease;
    const { signal } = controller;
    const parent = propagation.extract(ROOT_CONTEXT, { traceparent: job.traceparent });
    const attributes = { 'parley.job.kind': kind, 'parley.job.id': job.id, 'parley.job.attempt': job.attempt };
    await tracer.startActiveSpan(`job ${kind}`, { kind: SpanKind.CONSUMER, attributes }, parent, async (span) => {
      try {
        await handler({
          ...typed(job),
          signal,
          lease: { complete: (db) => complete(db, lease) },
          retryLater: (data, delayMs, db) => retryLater(lease, JSON.stringify(data ?? null), Math.ceil(delayMs), db),
          prepared,
        });
        // If the handler stopped because of a handover or a lost lease, the job is not done.
        if (!runsElsewhere(signal)) await completeAlone(lease);
      } catch (error) {
        span.setStatus({ code: SpanStatusCode.ERROR });
        await failed(lease, error);
      } finally {
        span.end();
      }
    });
  }

  async function complete(db: Transaction, lease: HeldLease): Promise<void> {
    if (!(await end(db, lease.job, { rollsBack: true }, lease))) throw new LeaseLost();
  }

  async function completeAlone(lease: HeldLease): Promise<void> {
    await persist(lease, () => database.transact(lease.job.tenantId, (db) => complete(db, lease), urgent));
  }

  async function retryLater(lease: HeldLease, payload: string, delayMs: number, db?: Transaction): Promise<void> {
    async function restart(within: Transaction): Promise<void> {
      if (!(await jobsStore(within.knex, kind).restart(lease.job, payload, delayMs))) throw new LeaseLost();
      lease.ending = true;
      within.afterCommit(() => {
        options.drop(lease);
        options.retryIn(delayMs);
      });
    }
    await (db ? restart(db) : persist(lease, () => database.transactShared(restart, urgent)));
  }

  /** Runs `write`, and retries it during an outage of the database for as long as the lease is held. */
  async function persist(lease: HeldLease, write: () => Promise<void>): Promise<void> {
    while (leases.has(lease)) {
      try {
        await write();
        return;
      } catch (error) {
        if (!isDomainError(error, 'unavailable') || options.isHandedOver()) throw error;
        await delay(Math.min(leaseMs / 10, 1_000), undefined, { ref: false });
      }
    }
  }

  async function failed(lease: HeldLease, error: unknown): Promise<void> {
    const { job, controller } = lease;
    const about = { kind, jobId: job.id, attempt: job.attempt };
    if (!leases.has(lease)) {
      if (!(error instanceof LeaseLost) && !runsElsewhere(controller.signal))
        log.error({ ...about, err: error }, 'job handler threw after the end of its job');
      return;
    }
    if (runsElsewhere(controller.signal)) return; // `stop` releases the job
    try {
      if (error instanceof LeaseLost) {
        log.warn(about, 'job was ended by another process');
      } else if (isCancelled(controller.signal, error)) {
        await completeAlone(lease);
      } else if (job.attempt < maxAttempts && retryable(error)) {
        const delayMs = Math.round(backoffMs(job.attempt));
        log.warn({ ...about, delayMs, err: error }, 'job failed; will retry');
        const release = async (db: Transaction) => jobsStore(db.knex, kind).release([job], delayMs);
        await persist(lease, () => database.transactShared(release, urgent));
        onFailure?.('retried');
        options.retryIn(delayMs);
      } else {
        await exhaust(job, error, { lease });
      }
    } catch (failure) {
      log.error({ ...about, err: failure }, 'job outcome not written; will retry when the lease expires');
    } finally {
      if (leases.has(lease)) options.drop(lease);
    }
  }

  /** Records that a job has failed permanently. `expired`: whether the lease of its last attempt has expired. */
  async function exhaust(
    job: ClaimedJob,
    error: unknown,
    { expired = false, lease }: { expired?: boolean; lease?: HeldLease },
  ): Promise<void> {
    if (exhausting.has(job.token)) return;
    exhausting.add(job.token);
    const about = { kind, jobId: job.id, attempt: job.attempt };
    const how = { expired, ...(!onExhausted && { error: publicMessage(error) }) };
    const write = async () => {
      const fetched = (await beforeExhausted?.(typed(job))) as Fetched;
      const fail = async (db: TenantDb) => {
        if (!(await end(db, job, how, lease))) return;
        db.afterCommit(() => onFailure?.('given_up'));
        await onExhausted?.(db, typed(job), error, fetched);
      };
      await database.transact(job.tenantId, fail, urgent);
    };
    try {
      log.error({ ...about, err: error }, 'job failed for good');
      await (lease ? persist(lease, write) : write());
    } catch (failure) {
      log.error({ ...about, err: failure }, 'job failure not recorded; will retry');
      const renew = async (db: Transaction) => jobsStore(db.knex, kind).renew([job], leaseMs);
      await database.transactShared(renew, urgent).catch(() => undefined);
    } finally {
      exhausting.delete(job.token);
    }
  }

  return { prepare, perform, exhaust };
}

/** Reports whether another process runs the job, or will run it. */
function runsElsewhere(signal: AbortSignal): boolean {
  return signal.reason instanceof JobHandover || signal.reason instanceof LeaseLost;
}

/** Reports whether the handler stopped because its job was cancelled. */
function isCancelled({ reason }: AbortSignal, error: unknown): boolean {
  return reason instanceof JobCancelled && (error === reason || isAbortError(error));
}

function isOfTenant(db: Transaction, tenantId: number): db is TenantDb {
  return 'tenantId' in db && db.tenantId === tenantId;
}

/** Returns the part of an error that may be stored: only messages of DomainErrors are known to contain no secrets. */
function publicMessage(error: unknown): string {
  if (isDomainError(error) && error.kind !== 'internal') return error.message;
  return error instanceof Error ? error.name : 'unknown error';
}
