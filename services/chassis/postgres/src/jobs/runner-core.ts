import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { keepSubscribed } from '@parley/live/key-value/keep-subscribed';
import type { Knex } from 'knex';
import type { Transaction } from '../database/types.ts';
import { type HeldLease, heldLeases } from './held-leases.ts';
import { wakeOf } from './job-claimer.ts';
import { type Ending, type JobWork, jobPerformer } from './job-performer.ts';
import type { ClaimedJob } from './job-rows.ts';
import { jobSearch } from './job-search.ts';
import { JobHandover, LeaseLost } from './job-signals.ts';
import { jobsStore } from './jobs-store.ts';
import { leaseTimes } from './lease-times.ts';
import type { JobRunner, RunnerOptions } from './runner-types.ts';

/** How long handlers have, once told of the handover, before their jobs may begin elsewhere. */
const handoverMs = 1_000;

export function runnerOf(options: RunnerOptions, work: JobWork): JobRunner {
  const { database, kind, concurrency, maxAttempts = 3, notifier, log, stopGraceMs = 15_000 } = options;
  const perTenantLimit = typeof options.perTenantLimit === 'number' ? options.perTenantLimit : undefined;
  const { leaseMs, searchIntervalMs } = leaseTimes(options.leaseMs ?? 30_000, options.searchIntervalMs);
  const owner = randomUUID();
  const claim = { owner, leaseMs };
  const channel = `parley:jobs:${database.schemaName}:${kind}:cancelled`;
  // A job is started by whoever commits or completes; none of their request's context is its own.
  const detached = AsyncLocalStorage.snapshot();

  const leases = heldLeases({ database, kind, leaseMs, log });
  const working = new Set<Promise<void>>();
  const reserved = new Set<{ knex: Knex.Transaction }>();
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
    intervalMs: searchIntervalMs,
    capacity,
    keepPlaces: (count) => {
      searchPlaces = count;
    },
    begin: (job, claimedAtMs) => begin(job, { claimedAtMs, prepared: undefined }),
    exhausted: (job) => track(exhaust(job, new LeaseLost(`The job was lost ${job.attempt} times`), { expired: true })),
    log,
  });

  const { perform, exhaust } = jobPerformer({
    ...options,
    work,
    leaseMs,
    leases,
    end,
    drop,
    retryIn: (delayMs) => search.within(delayMs),
    isHandedOver: () => handedOver,
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
  async function end(db: Transaction, job: ClaimedJob, ending: Ending, lease?: HeldLease): Promise<boolean> {
    const store = jobsStore(db.knex, kind);
    if (!(await store.end(job, ending))) return false;
    if (lease) lease.ending = true;
    const claimedAtMs = performance.now();
    // Where others wait for a place, it is not the next job of this key that gets it: a tenant whose sessions always have
    // another job would keep its places for as long.
    const mayClaim = accepting && !search.lacksPlace && (lease ? leases.has(lease) : capacity() > 0);
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
    // Without it they take effect at the next renewal.
    undo.push(await keepSubscribed(notifier, { channel, handler: (token) => void leases.cancel(token), log }));
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
  database.registry.runners.set(kind, runner);
  return runner;
}
