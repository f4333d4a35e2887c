import { LRUCache } from 'lru-cache';

/** While tenants probe one at a time, the next probe may start this long after the start of the previous one, even without an answer. */
const probeMs = 1_000;
/** How many answers end an outage. After the first answer, tenants with open breakers may probe too. */
const enoughAnswers = 3;
/** An outage starts only when the model has answered nobody for this long. */
const silentMs = 1_000;
/** The state of an outage expires this long after the last rejected call. */
const knownMs = 30 * 60_000;
/**
 * How long a tenant's last answer is remembered, and how long it is remembered that its calls failed while other tenants were answered. In
 * the second case the tenant's own requests are the cause.
 */
const rememberedMs = 10 * 60_000;
const maxTenants = 10_000;

/**
 * `works`: an open breaker affects its own tenant only. `outage`: one call at a time probes the model. `ending`: any tenant may probe the
 * model, but only one at a time.
 */
export type OutageState = 'works' | 'outage' | 'ending';

/** Events that change the state of an outage. A state ignores events that it has no entry for. */
export type OutageEvent =
  /**
   * So many consecutive calls failed that a breaker would open; the calls belong to several tenants, and no call was
   * answered in between.
   */
  | 'enoughFailures'
  | 'answer'
  /** The last of the answers that are needed to end an outage. */
  | 'enoughAnswers'
  /** No call was rejected for half an hour. */
  | 'silence';

export const transitions: Record<OutageState, Partial<Record<OutageEvent, OutageState>>> = {
  works: { enoughFailures: 'outage' },
  outage: { answer: 'ending', silence: 'works' },
  ending: { enoughFailures: 'outage', enoughAnswers: 'works' },
};

export type ModelOutage = ReturnType<typeof modelOutage>;

/**
 * Detects from all tenants' calls that a model fails for everybody, and limits which calls probe the model until it recovers.
 * An outage starts after as many consecutive failed calls as open a breaker, without an answered call in between. At most half of these
 * calls count for one tenant. During the outage about one call per `openMs` probes the model, rather than one per tenant:
 * - A tenant with an open breaker probes if no call has probed for `openMs`. Otherwise it waits `openMs` times the number of such tenants.
 * - Tenants without an open breaker probe one at a time, for one second each. So a tenant whose own requests fail blocks the others for at
 *   most a second.
 * After the first answer all tenants probe one at a time until `enoughAnswers` calls were answered, because a model that is just starting
 * would fail if all tenants called it at once. Tenants whose calls failed while another tenant was answered count towards an outage only if
 * they outnumber the tenants that were answered recently.
 */
export function modelOutage(failures: number, openMs: number, now: () => number) {
  const bounds = { max: maxTenants, perf: { now }, ttlResolution: 0 };
  /** Number of failures of each tenant since the model last answered anybody. */
  const failing = new LRUCache<number, number>(bounds);
  const ownFaults = new LRUCache<number, true>({ ...bounds, ttl: rememberedMs });
  const answered = new LRUCache<number, true>({ ...bounds, ttl: rememberedMs });
  /** Tenants whose probe had no outcome. */
  const undecided = new LRUCache<number, true>({ ...bounds, ttl: 2 * openMs });
  let current: OutageState = 'works';
  /** Number of answers that are still needed, while an outage is ending, before tenants stop probing one at a time. */
  let wanted = 0;
  /** The time of the last rejected call; Infinity if no call was rejected since the model last answered. */
  let keptOutAtMs = Number.POSITIVE_INFINITY;
  let answeredAtMs = Number.NEGATIVE_INFINITY;
  let lastTrialMs = Number.NEGATIVE_INFINITY;
  let probeEndsMs = Number.NEGATIVE_INFINITY;
  let ended = 0;

  function on(event: OutageEvent): void {
    current = transitions[current][event] ?? current;
  }

  const isSilent = () => now() >= keptOutAtMs + knownMs;

  function state(): OutageState {
    if (isSilent()) on('silence');
    return current;
  }

  const isOfAll = () => state() === 'outage';

  const longestMs = () => (isOfAll() ? Math.min(openMs * failing.size, knownMs) : openMs);

  function forgetFailures(): void {
    failing.clear();
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
    get state() {
      return state();
    },
    /** Reports whether calls have been rejected and no call has been answered since. */
    isKnown: () => keptOutAtMs <= now() && !isSilent(),
    isOfAll,
    /** Number of outages that have ended. A breaker that opened before the end of the latest outage lets calls through. */
    get ended() {
      return ended;
    },
    /** Time from the opening of a breaker until it allows a trial call; longer during an outage if the model was probed recently. */
    get openMs() {
      return now() < lastTrialMs + openMs ? longestMs() : openMs;
    },
    /** Time from the opening of a breaker until it allows a trial call, if another call has probed the model recently. */
    get longestMs() {
      return longestMs();
    },
    /** Whether tenants with open breakers may probe, as all other tenants may. */
    get isEnding() {
      return state() === 'ending';
    },
    /** Reports whether this tenant must wait: another tenant is probing, or the last probe of this tenant had no outcome. */
    keepsOut: (tenantId: number) => state() !== 'works' && (now() < probeEndsMs || undecided.has(tenantId)),
    /** Records that the model is asked now. @returns whether this call is a probe */
    asked(): boolean {
      if (state() === 'works') return false;
      lastTrialMs = now();
      probeEndsMs = lastTrialMs + probeMs;
      return true;
    },
    /** Records that a probe had no outcome: its caller left, or its request was refused. */
    undecided(tenantId: number): void {
      undecided.set(tenantId, true);
      probeEndsMs = Number.NEGATIVE_INFINITY;
      lastTrialMs = Number.NEGATIVE_INFINITY;
    },
    failed(tenantId: number): void {
      const before = state();
      if (isSilent()) forgetFailures();
      failing.set(tenantId, (failing.get(tenantId) ?? 0) + 1);
      answered.delete(tenantId);
      if (before === 'outage' || !isEnough()) return;
      on('enoughFailures');
      keptOutAtMs = now();
    },
    /**
     * Records that a breaker has opened. This does not count against the model if calls of this tenant failed while other tenants were
     * answered.
     */
    keptOut(tenantId: number): void {
      if (isOfAll() || !ownFaults.has(tenantId)) keptOutAtMs = now();
    },
    answered(tenantId: number): void {
      answeredAtMs = now();
      if (isOfAll()) wanted = enoughAnswers;
      on('answer');
      if (current === 'ending') {
        wanted -= 1;
        probeEndsMs = Number.NEGATIVE_INFINITY;
        if (wanted === 0) {
          on('enoughAnswers');
          ended += 1;
        }
      }
      for (const other of failing.keys()) ownFaults.set(other, true);
      forgetFailures();
      ownFaults.delete(tenantId);
      answered.set(tenantId, true);
    },
  };
}
