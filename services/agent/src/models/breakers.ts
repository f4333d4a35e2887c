import {
  BrokenCircuitError,
  type CircuitBreakerPolicy,
  CircuitState,
  circuitBreaker,
  handleWhen,
  type IBreaker,
} from 'cockatiel';
import { LRUCache } from 'lru-cache';
import type { Model } from './model.ts';
import { ModelError, type ModelErrorKind } from './model-error.ts';
import { type ModelOutage, modelOutage } from './model-outage.ts';

export interface BreakerOptions {
  /** Number of consecutive failures of a tenant that opens the tenant's breaker. Default 5. */
  failures?: number;
  /**
   * How long a breaker stays open before a trial call, in ms. During an outage for all tenants this time is longer if a call has probed the
   * model recently. Default 10,000.
   */
  openMs?: number;
  /** A monotonic clock, in ms. */
  now?: () => number;
}

/** Rejects a tenant's calls to one model of one provider for some time after several of them have failed. */
export interface Breaker {
  /**
   * Whether calls are rejected now. Possible reasons: the breaker is open, its trial is running, the provider asked to wait, or another
   * tenant probes a failing model.
   */
  readonly isOpen: boolean;
  /** Time in ms until the pause that the provider asked for ends; Infinity if the provider asked for none. */
  readonly pausedForMs: number;
  /** The kind of the model's latest failure, whichever tenant made the call. */
  readonly lastFailure: ModelErrorKind | undefined;
  /**
   * Runs a call up to its first output. A failure that cannot be retried does not count, e.g. a refused request. A call that its caller
   * abandons does not count either; a trial that is abandoned has no outcome.
   */
  run<T>(begin: () => Promise<T>): Promise<T>;
}

type Place = Pick<Model, 'providerId' | 'modelId'>;

/** The state of one model of one provider, shared by all tenants. */
interface ModelState {
  place: Place;
  /** When the pause after a rate limit ends, by the breakers' clock. The provider sets the pause with `Retry-After`. */
  pausedUntilMs: number;
  outage: ModelOutage;
  lastFailure?: ModelErrorKind;
}

/** The maximum pause. A longer `Retry-After` is shortened to this time. */
const longestPauseMs = 60_000;
const maxModels = 500;
const maxBreakers = 5_000;

const monotonic = () => performance.now();

export type Breakers = ReturnType<typeof createBreakers>;

/**
 * Creates one breaker per tenant and model, because a request itself can make a provider fail, e.g. an image that it cannot decode. A
 * tenant's calls are rejected because of the tenant's own failures, unless the model fails for several tenants (`modelOutage`). The
 * `Retry-After` of a rate limit applies to all tenants; the `Retry-After` of any other failure applies only to the tenant that received it.
 */
export function createBreakers({ failures = 5, openMs = 10_000, now = monotonic }: BreakerOptions = {}) {
  const models = new LRUCache<string, ModelState>({ max: maxModels });
  const breakers = new LRUCache<string, { model: ModelState; breaker: Breaker }>({ max: maxBreakers });

  function stateOf(key: string, { providerId, modelId }: Place): ModelState {
    const known = models.get(key);
    if (known) return known;
    const state = { place: { providerId, modelId }, pausedUntilMs: 0, outage: modelOutage(failures, openMs, now) };
    models.set(key, state);
    return state;
  }

  return {
    of(place: Place, tenantId: number): Breaker {
      const key = JSON.stringify([place.providerId, place.modelId]);
      const model = stateOf(key, place);
      const known = breakers.get(`${tenantId} ${key}`);
      if (known?.model === model) return known.breaker;
      const breaker = breakerOf(model, tenantId, { failures, now });
      breakers.set(`${tenantId} ${key}`, { model, breaker });
      return breaker;
    },
    /**
     * Returns the models whose calls have been rejected and that have answered no call since. A model is removed half an hour after its
     * last rejected call.
     */
    failing(): Place[] {
      const isFailing = ({ pausedUntilMs, outage }: ModelState) => now() < pausedUntilMs || outage.isKnown();
      return [...models.values()].filter(isFailing).map(({ place }) => place);
    },
  };
}

/**
 * Thrown if the trial ended without an answer of the provider, e.g. because its caller left. The policy must handle
 * this error, because cockatiel counts unhandled errors as successes.
 */
class UnansweredTrial extends Error {}

function breakerOf(
  model: ModelState,
  tenantId: number,
  { failures, now }: { failures: number; now: () => number },
): Breaker {
  const { outage } = model;
  let openedAtMs = 0;
  /** The number of outages that had ended when this breaker opened. */
  let ended = 0;
  let pausedUntilMs = 0;
  /** Whether the last trial had no outcome. All other tenants may then try before this tenant tries again. */
  let isUndecided = false;
  const isOver = () => {
    if (ended < outage.ended) return true;
    if (outage.isEnding) return !outage.keepsOut(tenantId);
    return now() >= openedAtMs + (isUndecided ? outage.longestMs : outage.openMs);
  };
  // Decides when a breaker half-opens. cockatiel does not decide this, because it uses the wall clock, which may be set back.
  const opened = {
    get duration() {
      return isOver() ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
    },
    next: () => opened,
  };
  const circuit: CircuitBreakerPolicy = circuitBreaker(
    handleWhen((error) => error instanceof UnansweredTrial || isCounted(error)),
    { halfOpenAfter: opened, breaker: new ConsecutiveFailures(() => (outage.isOfAll() ? 1 : failures)) },
  );
  circuit.onBreak((reason) => {
    openedAtMs = now();
    ended = outage.ended;
    isUndecided = 'error' in reason && reason.error instanceof UnansweredTrial;
    if (!isUndecided) outage.keptOut(tenantId);
  });
  const note = (error: unknown) => {
    if (!isCounted(error)) return;
    outage.failed(tenantId);
    model.lastFailure = error.kind;
    if (error.retryAfterMs === undefined) return;
    const untilMs = now() + Math.min(error.retryAfterMs, longestPauseMs);
    if (error.kind === 'rateLimited') model.pausedUntilMs = untilMs;
    else pausedUntilMs = untilMs;
  };

  return {
    get isOpen() {
      if (now() < Math.max(model.pausedUntilMs, pausedUntilMs) || circuit.state === CircuitState.HalfOpen) return true;
      if (circuit.state === CircuitState.Open) return !isOver();
      return outage.keepsOut(tenantId);
    },
    get pausedForMs() {
      const remainingMs = Math.max(model.pausedUntilMs, pausedUntilMs) - now();
      return remainingMs > 0 ? Math.ceil(remainingMs) : Number.POSITIVE_INFINITY;
    },
    get lastFailure() {
      return model.lastFailure;
    },
    async run(begin) {
      if (circuit.state === CircuitState.Closed && outage.keepsOut(tenantId)) throw new BrokenCircuitError();
      const tried = async () => {
        const isProbe = outage.asked();
        const isTrial = circuit.state === CircuitState.HalfOpen;
        try {
          const answer = await begin();
          outage.answered(tenantId);
          return answer;
        } catch (error) {
          note(error);
          if (isProbe && !isCounted(error)) outage.undecided(tenantId);
          throw isTrial && !(error instanceof ModelError) ? new UnansweredTrial('', { cause: error }) : error;
        }
      };
      try {
        return await circuit.execute(tried);
      } catch (error) {
        throw error instanceof UnansweredTrial ? error.cause : error;
      }
    },
  };
}

function isCounted(error: unknown): error is ModelError {
  return error instanceof ModelError && error.retryable;
}

class ConsecutiveFailures implements IBreaker {
  state = 0;
  readonly #enough: () => number;

  /** @param enough returns how many consecutive failures open the circuit; called at each failure */
  constructor(enough: () => number) {
    this.#enough = enough;
  }
  success(): void {
    this.state = 0;
  }
  failure(): boolean {
    this.state += 1;
    return this.state >= this.#enough();
  }
}
