import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Knex } from 'knex';
import type { Transaction } from '../database/types.ts';
import { isDomainError } from '../errors.ts';
import { type HeldLease, heldLeases } from './held-leases.ts';
import { wakeOf } from './job-claimer.ts';
import type { JobRunner, RunnerOptions } from './job-runner.ts';
import { jobSearch } from './job-search.ts';
import { JobCancelled, JobHandover, LeaseLost } from './job-signals.ts';
import type { Lease } from './job-types.ts';
import { type ClaimedJob, jobsStore } from './jobs-store.ts';

/** What tells a runner of a tenant's jobs from one of shared jobs. */
export interface JobWork {
  handle(job: ClaimedJob, run: { signal: AbortSignal; lease: Lease; prepared: unknown }): Promise<void>;
  prepare(db: Transaction, job: ClaimedJob): Promise<unknown>;
  /** Whether exhausted jobs stay as failed. */
  keepsFailed: boolean;
  /** Runs `end` in a transaction of the right role, and in it what follows from the failure. */
  exhaust(job: ClaimedJob, error: unknown, end: (db: Transaction) => Promise<boolean>): Promise<void>;
}

/** How long handlers have, once told of the handover, before their jobs may begin elsewhere. */
const handoverMs = 1_000;

const tracer = trace.getTracer('parley.jobs');

export function runnerOf(options: RunnerOptions, work: JobWork): JobRunner {
  const { database, kind, concurrency, perTenantLimit, leaseMs = 30_000, maxAttempts = 3, notifier, log } = options;
  const { retryable = () => true, backoffMs = defaultBackoffMs, stopGraceMs = 15_000 } = options;
  const owner = randomUUID();
  const claim = { owner, leaseMs };
  const channel = `parley:jobs:${database.schemaName}:${kind}:cancelled`;
  // A job is started by whoever commits or completes; none of their request's context is its own.
  const detached = AsyncLocalStorage.snapshot();

  const leases = heldLeases({ database, kind, leaseMs, log });
  const working = new Set<Promise<void>>();
  const reserved = new Set<{ knex: Knex.Transaction }>();
  const exhausting = new Set<string>();
  const undo: (() => unknown)[] = [];
  let searchPlaces = 0;
  let accepting = false;
  let handedOver = false;

  const search = jobSearch({
    database,
    kind,
    claim,
    perTenantLimit,
    maxAttempts,
    intervalMs: options.searchIntervalMs ?? 1_500,
    capacity,
    keepPlaces: (count) => {
      searchPlaces = count;
    },
    begin: (job, claimedAtMs) => begin(job, { claimedAtMs, prepared: undefined }),
    exhausted: (job) => track(exhaust(job, new LeaseLost(`The job was lost ${job.attempt} times`), { expired: true })),
    log,
  });

  function capacity(): number {
    if (!accepting) return 0;
    // A rollback is announced to nobody: its place is found to be free when somebody asks.
    for (const place of reserved) if (place.knex.isCompleted()) reserved.delete(place);
    return concurrency - leases.size - reserved.size - searchPlaces;
  }

  function drop(lease: HeldLease): void {
    leases.remove(lease);
    search.placeFreed();
  }

  /** Removes a job (or keeps it as failed) and claims the next of its key, in one transaction. False: not ours any more. */
  async function end(
    db: Transaction,
    job: ClaimedJob,
    how: { expired?: boolean; error?: string } = {},
    lease?: HeldLease,
  ) {
    const store = jobsStore(db.knex, kind);
    if (!(await store.end(job, how))) return false;
    if (lease) lease.ending = true;
    const claimedAtMs = performance.now();
    const mayClaim = accepting && (lease ? leases.has(lease) : capacity() > 0);
    const { next, waiting } = mayClaim
      ? await store.claimNext(job, claim, perTenantLimit)
      : { next: undefined, waiting: accepting };
    const prepared = next && (await work.prepare(db, next));
    db.afterCommit(() => {
      if (lease) leases.remove(lease);
      if (next) begin(next, { claimedAtMs, prepared });
      else search.placeFreed();
    });
    // Jobs of other keys are claimed right after the commit, in a transaction of the search's own: so a claim that
    // collides with another process's cannot undo the effect of this job.
    if (waiting && !next) db.wake(wakeOf(kind));
    return true;
  }

  function begin(job: ClaimedJob, { claimedAtMs, prepared }: { claimedAtMs: number; prepared: unknown }): void {
    if (handedOver) {
      void giveBack([job]);
      return;
    }
    const lease = leases.add(job, claimedAtMs);
    track(detached(() => perform(lease, prepared)));
  }

  /** What `stop` waits for. */
  function track(task: Promise<void>): void {
    const done = task.finally(() => working.delete(done));
    working.add(done);
  }

  async function perform(lease: HeldLease, prepared: unknown): Promise<void> {
    const { job, controller } = lease;
    const { signal } = controller;
    const parent = propagation.extract(ROOT_CONTEXT, { traceparent: job.traceparent });
    const attributes = { 'parley.job.kind': kind, 'parley.job.id': job.id, 'parley.job.attempt': job.attempt };
    await tracer.startActiveSpan(`job ${kind}`, { kind: SpanKind.CONSUMER, attributes }, parent, async (span) => {
      try {
        await work.handle(job, { signal, lease: { complete: (db) => complete(db, lease) }, prepared });
        // Who stopped because of one of these has done nothing to be completed.
        if (!isGivenUp(signal)) await completeAlone(lease);
      } catch (error) {
        span.setStatus({ code: SpanStatusCode.ERROR });
        await failed(lease, error);
      } finally {
        span.end();
      }
    });
  }

  async function complete(db: Transaction, lease: HeldLease): Promise<void> {
    if (!(await end(db, lease.job, {}, lease))) throw new LeaseLost();
  }

  async function completeAlone(lease: HeldLease): Promise<void> {
    await persist(lease, () =>
      lease.job.tenantId === undefined
        ? database.transactShared((db) => complete(db, lease))
        : database.transact(lease.job.tenantId, (db) => complete(db, lease)),
    );
  }

  /** While the database is away the outcome is kept, for as long as the lease is. */
  async function persist(lease: HeldLease, write: () => Promise<void>): Promise<void> {
    while (leases.has(lease)) {
      try {
        await write();
        return;
      } catch (error) {
        if (!isDomainError(error, 'unavailable') || handedOver) throw error;
        await delay(Math.min(leaseMs / 10, 1_000), undefined, { ref: false });
      }
    }
  }

  async function failed(lease: HeldLease, error: unknown): Promise<void> {
    const { job, controller } = lease;
    const about = { kind, jobId: job.id, attempt: job.attempt };
    if (!leases.has(lease)) {
      if (!(error instanceof LeaseLost) && !isGivenUp(controller.signal))
        log.error({ ...about, err: error }, 'a job threw after its end');
      return;
    }
    if (isGivenUp(controller.signal)) return; // `stop` gives it back
    try {
      if (error instanceof LeaseLost) {
        log.warn(about, 'a job was ended by somebody else');
      } else if (controller.signal.reason instanceof JobCancelled && isAbort(error, controller.signal)) {
        await completeAlone(lease);
      } else if (job.attempt < maxAttempts && retryable(error)) {
        const delayMs = Math.round(backoffMs(job.attempt));
        log.warn({ ...about, delayMs, err: error }, 'a job failed and will be tried again');
        await persist(lease, () => database.transactShared((db) => jobsStore(db.knex, kind).release([job], delayMs)));
        search.within(delayMs);
      } else {
        await exhaust(job, error, { lease });
      }
    } catch (failure) {
      log.error({ ...about, err: failure }, 'the outcome of a job could not be written; its lease runs out');
    } finally {
      if (leases.has(lease)) drop(lease);
    }
  }

  async function exhaust(
    job: ClaimedJob,
    error: unknown,
    { expired = false, lease }: { expired?: boolean; lease?: HeldLease },
  ) {
    if (exhausting.has(job.token)) return;
    exhausting.add(job.token);
    const about = { kind, jobId: job.id, attempt: job.attempt };
    const how = { expired, ...(work.keepsFailed && { error: publicMessage(error) }) };
    const write = () => work.exhaust(job, error, (db) => end(db, job, how, lease));
    try {
      log.error({ ...about, err: error }, 'a job has failed for good');
      await (lease ? persist(lease, write) : write());
    } catch (failure) {
      log.error({ ...about, err: failure }, 'the failure of a job could not be recorded; it is tried again later');
      await database.transactShared((db) => jobsStore(db.knex, kind).renew([job], leaseMs)).catch(() => undefined);
    } finally {
      exhausting.delete(job.token);
    }
  }

  async function giveBack(given: ClaimedJob[]): Promise<void> {
    if (given.length === 0) return;
    try {
      await database.transactShared((db) => jobsStore(db.knex, kind).release(given, 0));
      log.info({ kind, jobs: given.length }, 'jobs were handed over');
    } catch (error) {
      log.warn({ kind, jobs: given.length, err: error }, 'jobs could not be handed over; their leases run out');
    }
  }

  async function settled(ms: number): Promise<void> {
    const endMs = performance.now() + ms;
    for (let leftMs = ms; working.size > 0 && leftMs > 0; leftMs = endMs - performance.now()) {
      const done = new AbortController();
      const late = delay(leftMs, undefined, { signal: done.signal }).catch(() => undefined);
      await Promise.race([Promise.allSettled(working), late]); // a job that ends may have begun the next one
      done.abort();
    }
  }

  async function listen(): Promise<void> {
    if (!notifier) return;
    try {
      undo.push(await notifier.subscribe(channel, (token) => leases.cancel(token)));
    } catch (error) {
      log.warn({ kind, err: error }, 'no cancellations from other processes; they take effect at the next renewal');
    }
  }

  return {
    name: `jobs ${kind}`,
    kind,
    owner,
    leaseMs,
    perTenantLimit,
    get running() {
      return leases.size;
    },
    get queuedAgeMs() {
      return search.oldestDueMs;
    },
    prepare: work.prepare,
    begin,

    reserve(knex) {
      if (capacity() <= 0) return undefined;
      const place = { knex };
      reserved.add(place);
      return { free: () => void reserved.delete(place) };
    },

    cancelled(token) {
      if (leases.cancel(token)) return;
      notifier?.publish(channel, token).catch((error: unknown) => {
        log.warn({ kind, err: error }, 'a cancellation could not be announced; it takes effect at the next renewal');
      });
    },

    async start() {
      if (options.soleOwner) await database.transactShared((db) => jobsStore(db.knex, kind).voidLeasesOfOthers(owner));
      undo.push(database.onWake(wakeOf(kind), () => search.within(0)));
      await listen();
      handedOver = false;
      accepting = true;
      search.start();
    },

    async stop() {
      accepting = false;
      await search.stop();
      await settled(stopGraceMs);
      for (const { controller } of leases.list()) controller.abort(new JobHandover());
      await settled(handoverMs);
      handedOver = true;
      const left = leases.list();
      await giveBack(left.map(({ job }) => job));
      for (const lease of left) leases.remove(lease);
      await Promise.allSettled(undo.splice(0).map(async (step) => step()));
    },
  };
}

/** Whether somebody else does the job now, or will. */
function isGivenUp(signal: AbortSignal): boolean {
  return signal.reason instanceof JobHandover || signal.reason instanceof LeaseLost;
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  return error === signal.reason || (error instanceof Error && error.name === 'AbortError');
}

/** What may be kept of an error: only our own messages are known to hold no secrets. */
function publicMessage(error: unknown): string {
  if (isDomainError(error) && error.kind !== 'internal') return error.message;
  return error instanceof Error ? error.name : 'unknown error';
}

function defaultBackoffMs(attempt: number): number {
  return Math.min(60_000, 1_000 * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
}
