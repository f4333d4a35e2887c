import type { Database } from '../database/types.ts';
import type { Logger } from '../log.ts';
import type { Claim, ClaimedJob } from './job-rows.ts';
import { jobSearchStore } from './job-search-store.ts';

export interface JobSearchOptions {
  database: Database;
  kind: string;
  claim: Claim;
  perTenantLimit: number | undefined;
  maxAttempts: number;
  /** How long it rests when nothing wakes it, in ms, give or take a quarter. */
  intervalMs: number;
  /** How many more jobs this process may begin. */
  capacity(): number;
  /** Keeps that many places until the search is through. */
  keepPlaces(count: number): void;
  begin(job: ClaimedJob, claimedAtMs: number): void;
  exhausted(job: ClaimedJob): void;
  log: Logger;
}

/** Finds jobs that nobody is at: those of dead processes, and queued ones that were not claimed as they were appended. */
export interface JobSearch {
  /** How long the oldest runnable job has waited, in ms, as last seen. */
  readonly oldestDueMs: number;
  start(): void;
  stop(): Promise<void>;
  /** Searches in so many ms at the latest. */
  within(ms: number): void;
  /** There is a place again: searches at once if the last search lacked one. */
  placeFreed(): void;
}

const batch = 16;

export function jobSearch(options: JobSearchOptions): JobSearch {
  const { database, kind, claim, perTenantLimit, maxAttempts, intervalMs, log } = options;
  let stopped = true;
  let timer: NodeJS.Timeout | undefined;
  let dueAtMs = Number.POSITIVE_INFINITY;
  let searching: Promise<void> | undefined;
  let lackedPlace = false;
  let oldestDueMs = 0;

  function within(ms: number): void {
    const atMs = performance.now() + ms;
    if (stopped || atMs >= dueAtMs) return;
    clearTimeout(timer);
    dueAtMs = atMs;
    timer = setTimeout(pass, Math.ceil(ms)).unref();
  }

  function pass(): void {
    dueAtMs = Number.POSITIVE_INFINITY;
    if (stopped) return;
    if (searching) {
      // What woke us may have committed after the running search has looked.
      void searching.finally(() => within(0));
      return;
    }
    searching = search()
      .catch((error: unknown) => log.warn({ kind, err: error }, 'the search for jobs failed'))
      .finally(() => {
        searching = undefined;
        within(intervalMs * (0.75 + Math.random() / 2));
      });
  }

  async function search(): Promise<void> {
    if (options.capacity() <= 0) {
      lackedPlace = true;
      return;
    }
    try {
      const { nextDueMs, wanted, found } = await database.transactShared(async (db) => {
        const store = jobSearchStore(db.knex, kind);
        const { expired, ...seen } = await store.look();
        oldestDueMs = Math.max(0, -(seen.oldestDueMs ?? 0));
        const due = seen.oldestDueMs !== undefined;
        const wanted = expired || due ? Math.max(0, Math.min(batch, options.capacity())) : 0;
        if (wanted === 0) return { nextDueMs: seen.nextDueMs, wanted: expired || due ? 0 : 1, found: 0 };
        options.keepPlaces(wanted);

        const tenantIds = due && perTenantLimit !== undefined ? await store.listTenantsWithRoom(perTenantLimit) : [];
        if (tenantIds.length > 0) await store.lockTenants(tenantIds);

        const claimedAtMs = performance.now();
        const claimed = expired ? await store.takeOver(claim, maxAttempts, wanted) : [];
        const exhausted = expired ? await store.findExhausted(maxAttempts) : [];
        if (due && tenantIds.length > 0 && perTenantLimit !== undefined && claimed.length < wanted) {
          claimed.push(...(await store.claimOfTenants(tenantIds, perTenantLimit, claim, wanted - claimed.length)));
        }
        if (due && claimed.length < wanted) {
          const tenantless = perTenantLimit !== undefined;
          claimed.push(...(await store.claimAny(claim, wanted - claimed.length, { tenantless })));
        }
        db.afterCommit(() => {
          options.keepPlaces(0);
          for (const job of claimed) options.begin(job, claimedAtMs);
          for (const job of exhausted) options.exhausted(job);
        });
        return { nextDueMs: seen.nextDueMs, wanted, found: claimed.length };
      });
      if (nextDueMs !== undefined) within(nextDueMs);
      if (found >= wanted) {
        lackedPlace = options.capacity() <= 0;
        if (!lackedPlace) within(0); // there may be more
      }
    } finally {
      options.keepPlaces(0);
    }
  }

  return {
    get oldestDueMs() {
      return oldestDueMs;
    },
    start() {
      stopped = false;
      within(0);
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await searching;
    },
    within,
    placeFreed() {
      if (!lackedPlace || options.capacity() <= 0) return;
      lackedPlace = false;
      within(0);
    },
  };
}
