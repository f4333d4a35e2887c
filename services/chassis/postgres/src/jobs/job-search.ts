import type { Logger } from '@parley/kernel/log';
import type { Database } from '../database/types.ts';
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
  /** No place was left when it looked last: the next one that is free goes to whoever's turn it is. */
  readonly lacksPlace: boolean;
  start(): void;
  stop(): Promise<void>;
  /** Searches in so many ms at the latest. */
  within(ms: number): void;
  /** There is a place again: searches at once if the last search lacked one. */
  placeFreed(): void;
}

/** How many jobs one search claims at most; with the appends under way it stays below the margin of a tenant's limit. */
const batch = 16;

export function jobSearch(options: JobSearchOptions): JobSearch {
  const { database, kind, claim, perTenantLimit, maxAttempts, intervalMs, log } = options;
  let stopped = true;
  let timer: NodeJS.Timeout | undefined;
  let dueAtMs = Number.POSITIVE_INFINITY;
  let searching: Promise<void> | undefined;
  let lackedPlace = false;
  /** A place has been freed since the last search, which lacked one. */
  let freedForOthers = false;
  let oldestDueMs = 0;
  /** The tenant that was served last: the next search begins behind it. */
  let servedTenantId = 0;

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
    const free = Math.min(batch, options.capacity());
    if (free <= 0) {
      lackedPlace = true;
      return;
    }
    // Where places are short they are kept before it looks, or jobs appended meanwhile would take each one that is freed.
    const kept = freedForOthers ? free : 0;
    freedForOthers = false;
    options.keepPlaces(kept);
    try {
      const { nextDueMs, mayBeMore } = await database.transactShared(async (db) => {
        const store = jobSearchStore(db.knex, kind);
        const { expired, ...seen } = await store.look();
        oldestDueMs = Math.max(0, -(seen.oldestDueMs ?? 0));
        const due = seen.oldestDueMs !== undefined;
        if (!expired && !due) return { nextDueMs: seen.nextDueMs, mayBeMore: false };
        options.keepPlaces(kept);
        const places = kept || Math.min(batch, options.capacity());
        if (places <= 0) return { nextDueMs: seen.nextDueMs, mayBeMore: true };
        options.keepPlaces(places);

        const limit = due ? perTenantLimit : undefined;
        const tenantIds = limit === undefined ? [] : await store.listTenantsWithRoom(limit, servedTenantId, places);
        if (tenantIds.length > 0) await store.lockTenants(tenantIds);

        const claimedAtMs = performance.now();
        const claimed = expired ? await store.takeOver(claim, maxAttempts, places) : [];
        const exhausted = expired ? await store.findExhausted(maxAttempts) : [];
        let moreOfTenants = tenantIds.length === places;
        if (limit !== undefined && tenantIds.length > 0 && claimed.length < places) {
          const count = places - claimed.length;
          const share = Math.ceil(count / tenantIds.length);
          const served = await store.claimOfTenants(tenantIds, { limit, share, count }, claim);
          claimed.push(...served);
          const counts = tenantIds.map((tenantId) => served.filter((job) => job.tenantId === tenantId).length);
          servedTenantId = tenantIds[counts.findLastIndex((served) => served > 0)] ?? servedTenantId;
          moreOfTenants ||= counts.includes(share);
        }
        if (due && claimed.length < places) {
          const tenantless = perTenantLimit !== undefined;
          claimed.push(...(await store.claimAny(claim, places - claimed.length, { tenantless })));
        }
        db.afterCommit(() => {
          options.keepPlaces(0);
          for (const job of claimed) options.begin(job, claimedAtMs);
          for (const job of exhausted) options.exhausted(job);
        });
        return { nextDueMs: seen.nextDueMs, mayBeMore: moreOfTenants || claimed.length >= places };
      });
      if (nextDueMs !== undefined) within(nextDueMs);
      if (mayBeMore) {
        lackedPlace = options.capacity() <= 0;
        if (!lackedPlace) within(0);
      }
    } finally {
      options.keepPlaces(0);
    }
  }

  return {
    get oldestDueMs() {
      return oldestDueMs;
    },
    get lacksPlace() {
      return lackedPlace;
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
      freedForOthers = true;
      within(0);
    },
  };
}
