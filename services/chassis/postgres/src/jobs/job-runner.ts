import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { sleep } from '@parley/kernel/timing/timers';
import { keepSubscribed } from '@parley/live/key-value/keep-subscribed';
import type { Knex } from 'knex';
import type { Transaction } from '../database/types.ts';
import { type HeldLease, heldLeases } from './held-leases.ts';
import { wakeOf } from './job-claimer.ts';
import { type Ending, jobPerformer } from './job-performer.ts';
import type { ClaimedJob } from './job-rows.ts';
import { jobSearch } from './job-search.ts';
import { JobHandover, LeaseLost } from './job-signals.ts';
import { jobsStore } from './jobs-store.ts';
import { leaseTimes, soleOwnerSearchMs } from './lease-times.ts';
import type { JobRunner, JobRunnerOptions } from './runner-types.ts';

/** How long handlers may take to end after `JobHandover`, before their jobs are released to other processes. */
const handoverMs = 1_000;
/** The maximum of the column `attempt`. */
const maxCount = 2 ** 31 - 1;

export function jobRunner<Data, Prepared = undefined, Fetched = undefined>(
  options: JobRunnerOptions<Data, Prepared, Fetched>,
): JobRunner {
  const { database, kind, concurrency, retry = { maxAttempts: 3 }, notifier, log, stopGraceMs = 15_000 } = options;
  const maxAttempts = retry === 'untilDone' ? maxCount : retry.maxAttempts;
  const perTenantLimit = typeof options.perTenantLimit === 'number' ? options.perTenantLimit : undefined;
  const givenSearchMs = options.searchIntervalMs ?? (options.soleOwner ? soleOwnerSearchMs : undefined);
  const { leaseMs, searchIntervalMs } = leaseTimes(options.leaseMs ?? 30_000, givenSearchMs);
  const owner = randomUUID();
  const claim = { owner, leaseMs };
  const channel = `parley:jobs:${database.schemaName}:${kind}:cancelled`;
  // The context in which the runner is made: a job must not inherit the async context of the request that commits or completes another job.
  const detached = AsyncLocalStorage.snapshot();

  const leases = heldLeases({ database, kind, leaseMs, log });
  const running = new Set<Promise<void>>();
  const reserved = new Set<{ knex: Knex.Transaction }>();
  const unsubscribes: (() => unknown)[] = [];
  let searchSlots = 0;
  let accepting = false;
  let handedOver = false;

  const search = jobSearch({
    database,
    kind,
    claim,
    perTenantLimit,
    maxAttempts,
    intervalMs: searchIntervalMs,
    capacity,
    reserveSlots: (count) => {
      searchSlots = count;
    },
    begin: (job, claimedAtMs) => begin(job, { claimedAtMs, prepared: undefined }),
    exhausted: (job) => track(exhaust(job, new LeaseLost(`The job was lost ${job.attempt} times`), { expired: true })),
    log,
  });

  const { prepare, perform, exhaust } = jobPerformer({
    ...options,
    leaseMs,
    maxAttempts,
    leases,
    end,
    drop,
    retryIn: (delayMs) => search.within(delayMs),
    isHandedOver: () => handedOver,
  });

  function capacity(): number {
    if (!accepting) return 0;
    // Slots of transactions that have ended are free, although their end may be reported later.
    for (const slot of reserved) if (slot.knex.isCompleted()) reserved.delete(slot);
    return concurrency - leases.size - reserved.size - searchSlots;
  }

  function drop(lease: HeldLease): void {
    leases.remove(lease);
    search.slotFreed();
  }

  /** Ends a job and claims the next job of its key, in one transaction. Resolves to false if another process has the job. */
  async function end(db: Transaction, job: ClaimedJob, ending: Ending, lease?: HeldLease): Promise<boolean> {
    const store = jobsStore(db.knex, kind);
    const ended = store.end(job, ending);
    if (!ending.rollsBack && !(await ended)) return false;
    const claimedAtMs = performance.now();
    // When other tenants wait for a slot, this slot does not go to the next job of the key: otherwise a tenant that always has another job
    // would never free its slots.
    const mayClaim = accepting && !search.needsSlot && (lease ? leases.has(lease) : capacity() > 0);
    const none = Promise.resolve({ next: undefined, waiting: accepting });
    const claiming = mayClaim ? store.claimNext(job, claim, perTenantLimit) : none;
    claiming.catch(() => undefined); // if another process runs the job, claiming rejects, and the job was not ended
    if (!(await ended)) return false;
    if (lease) lease.ending = true;
    const { next, waiting } = await claiming;
    const prepared = next && (await prepare(db, next));
    db.afterCommit(() => {
      if (lease) leases.remove(lease);
      if (next) begin(next, { claimedAtMs, prepared });
      else search.slotFreed();
    });
    // The search claims jobs of other keys after the commit, in its own transaction, so that a conflict with another process cannot roll
    // back the effect of this job.
    if (waiting && !next) db.wake(wakeOf(kind));
    return true;
  }

  function begin(job: ClaimedJob, { claimedAtMs, prepared }: { claimedAtMs: number; prepared: unknown }): void {
    if (handedOver) {
      void release([job]);
      return;
    }
    const lease = leases.add(job, claimedAtMs);
    track(detached(() => perform(lease, prepared as Prepared | undefined)));
  }

  /** `stop` waits for the task. */
  function track(task: Promise<void>): void {
    const done = task.finally(() => running.delete(done));
    running.add(done);
  }

  async function release(released: ClaimedJob[]): Promise<void> {
    if (released.length === 0) return;
    try {
      await database.transactShared((db) => jobsStore(db.knex, kind).release(released, 0), { isUrgent: true });
      log.info({ kind, jobs: released.length }, 'jobs handed over');
    } catch (error) {
      log.warn({ kind, jobs: released.length, err: error }, 'job handover failed; the leases expire');
    }
  }

  async function settled(ms: number): Promise<void> {
    const endMs = performance.now() + ms;
    for (let leftMs = ms; running.size > 0 && leftMs > 0; leftMs = endMs - performance.now()) {
      const done = new AbortController();
      await Promise.race([Promise.allSettled(running), sleep(leftMs, done.signal)]); // a job may have started the next one at its end
      done.abort();
    }
  }

  /**
   * The subscription is not awaited, so that an unresponsive notifier delays neither start nor stop. Until the notifier responds, lease
   * renewals report cancellations.
   */
  function subscribeCancellations(): void {
    if (!notifier) return;
    const handler = (token: string) => void leases.cancel(token);
    let stopped = false;
    let unsubscribe: (() => Promise<void>) | undefined;
    keepSubscribed(notifier, { channel, handler, log })
      .then((leave) => {
        unsubscribe = leave;
        return stopped ? leave() : undefined;
      })
      .catch((error: unknown) => log.error({ kind, channel, err: error }, 'subscription to cancellations failed'));
    unsubscribes.push(async () => {
      stopped = true;
      await unsubscribe?.();
    });
  }

  const runner: JobRunner = {
    name: `jobs ${kind}`,
    kind,
    owner,
    leaseMs,
    perTenantLimit,
    get running() {
      return leases.size;
    },
    prepare,
    begin,

    reserve(knex) {
      if (capacity() <= 0) return undefined;
      const slot = { knex };
      reserved.add(slot);
      const free = () => {
        if (reserved.delete(slot)) search.slotFreed();
      };
      knex.executionPromise.catch(free);
      return { use: () => void reserved.delete(slot), free };
    },

    cancelled(token) {
      if (leases.cancel(token)) return;
      notifier?.publish(channel, token).catch((error: unknown) => {
        log.warn({ kind, err: error }, 'cancellation not published; it takes effect at the next renewal');
      });
    },

    async start() {
      if (options.soleOwner) await database.transactShared((db) => jobsStore(db.knex, kind).expireOtherLeases(owner));
      unsubscribes.push(database.onWake(wakeOf(kind), () => search.within(0)));
      subscribeCancellations();
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
      const abandoned = leases.list();
      await release(abandoned.map(({ job }) => job));
      for (const lease of abandoned) leases.remove(lease);
      await Promise.allSettled(unsubscribes.splice(0).map(async (step) => step()));
    },
  };
  database.registry.runners.set(kind, runner);
  return runner;
}
