import { LRUCache } from 'lru-cache';

/** Of the tenants for whom it has not failed yet, one at a time is let through; the next one after so long, whether it was answered or not. */
const probeMs = 1_000;
/** So many answers end an outage; after the first, all tenants take turns. */
const enoughAnswers = 3;
/** An outage begins so long after the last answer: what answers others at the same time is well. */
const silentMs = 1_000;
/** Nobody has been kept out for so long: what is known of the outage is too old. */
const knownMs = 30 * 60_000;
/** So long the calls of a tenant that failed while the model answered another one prove little, and an answer proves something. */
const rememberedMs = 10 * 60_000;
const maxTenants = 10_000;

export type ModelOutage = ReturnType<typeof modelOutage>;

/**
 * What the calls of all tenants show of one model. It has an outage where so many calls in a row failed as open a breaker, no more than half
 * of them one tenant's, and nobody was answered since. Then about one call every `openMs` tries it, in place of one of each tenant: a tenant
 * that was kept out tries where nobody else has for `openMs`, and otherwise waits as many times longer as there are such tenants; the others
 * take turns of a second. Once one is answered all take turns, until a few are: a model that answers few would fail for all at once. So tenants whose own requests fail keep nobody else out for longer than a turn. Those that failed while another one was
 * answered count again only where they are more than were answered lately: a model that answers few is not well either.
 */
export function modelOutage(failures: number, openMs: number, now: () => number) {
  const bounds = { max: maxTenants, perf: { now }, ttlResolution: 0 };
  /** Failures since the model last answered anybody, by tenant. */
  const failing = new LRUCache<number, number>(bounds);
  const ownFaults = new LRUCache<number, true>({ ...bounds, ttl: rememberedMs });
  const answered = new LRUCache<number, true>({ ...bounds, ttl: rememberedMs });
  /** Those that have tried it and found out nothing. */
  const undecided = new LRUCache<number, true>({ ...bounds, ttl: 2 * openMs });
  let isOutage = false;
  /** Answers that are still wanted while tenants take turns after an outage; 0 else. */
  let wanted = 0;
  /** Infinity while nobody has been kept out since it last answered. */
  let keptOutAtMs = Number.POSITIVE_INFINITY;
  let answeredAtMs = Number.NEGATIVE_INFINITY;
  let lastTrialMs = Number.NEGATIVE_INFINITY;
  let probeEndsMs = Number.NEGATIVE_INFINITY;
  let ended = 0;

  const isKnown = () => keptOutAtMs <= now() && now() < keptOutAtMs + knownMs;
  const isOfAll = () => isOutage && isKnown();
  const isProbing = () => wanted > 0 || isOfAll();

  const longestMs = () => (isOfAll() ? Math.min(openMs * failing.size, knownMs) : openMs);

  function forget(): void {
    failing.clear();
    isOutage = false;
    keptOutAtMs = Number.POSITIVE_INFINITY;
  }

  function isEnough(): boolean {
    if (now() < answeredAtMs + silentMs) return false;
    answered.purgeStale();
    const all = [...failing.entries()];
    const counted = failing.size > answered.size ? all : all.filter(([tenantId]) => !ownFaults.has(tenantId));
    if (counted.length < 2) return false;
    const maxPerTenant = Math.ceil(failures / 2);
    return counted.reduce((sum, [, count]) => sum + Math.min(count, maxPerTenant), 0) >= failures;
  }

  return {
    /** Whether the model has kept anybody out and has answered nobody since. */
    isKnown,
    isOfAll,
    /** How many outages have ended: breakers that opened before let calls through. */
    get ended() {
      return ended;
    },
    /** How long after it opened a breaker lets a call through. */
    get openMs() {
      return now() < lastTrialMs + openMs ? longestMs() : openMs;
    },
    /** The same where others try it. */
    get longestMs() {
      return longestMs();
    },
    /** Whether tenants whose breakers are open take turns too. */
    get isEnding() {
      return wanted > 0;
    },
    /** Whether another tenant has its turn, or this one has had it. */
    keepsOut: (tenantId: number) => isProbing() && (now() < probeEndsMs || undecided.has(tenantId)),
    /** The model is asked now. Says whether it is the turn of this call. */
    asked(): boolean {
      if (!isProbing()) return false;
      lastTrialMs = now();
      probeEndsMs = lastTrialMs + probeMs;
      return true;
    },
    /** The call whose turn it was has shown nothing: its caller left, or its request was refused. */
    undecided(tenantId: number): void {
      undecided.set(tenantId, true);
      probeEndsMs = Number.NEGATIVE_INFINITY;
      lastTrialMs = Number.NEGATIVE_INFINITY;
    },
    failed(tenantId: number): void {
      if (now() >= keptOutAtMs + knownMs) forget();
      failing.set(tenantId, (failing.get(tenantId) ?? 0) + 1);
      answered.delete(tenantId);
      if (isOutage || !isEnough()) return;
      isOutage = true;
      wanted = 0;
      keptOutAtMs = now();
    },
    /** A breaker has opened. That of a tenant whose calls failed while others were answered says nothing of the model. */
    keptOut(tenantId: number): void {
      if (isOutage || !ownFaults.has(tenantId)) keptOutAtMs = now();
    },
    answered(tenantId: number): void {
      answeredAtMs = now();
      if (isOfAll()) wanted = enoughAnswers;
      if (wanted > 0) {
        wanted -= 1;
        probeEndsMs = Number.NEGATIVE_INFINITY;
        if (wanted === 0) ended += 1;
      }
      for (const other of failing.keys()) ownFaults.set(other, true);
      forget();
      ownFaults.delete(tenantId);
      answered.set(tenantId, true);
    },
  };
}
