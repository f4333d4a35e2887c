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
  /** Failures in a row of one tenant that open it. Default 5. */
  failures?: number;
  /** How long it stays open before one call tries again, in ms; longer in an outage of all. Default 10,000. */
  openMs?: number;
  /** A clock that only goes on, in ms. */
  now?: () => number;
}

/** Keeps a tenant's calls from one model of one provider while they fail. */
export interface Breaker {
  /** Whether no call is let through now: it is open, its one trial runs, the provider asked to wait, or another tenant tries a failing model. */
  readonly isOpen: boolean;
  /** After how many ms the pause that the provider asked for ends; Infinity where it has asked for none. */
  readonly pausedForMs: number;
  /** How a call of the model failed last, of whatever tenant. */
  readonly lastFailure: ModelErrorKind | undefined;
  /**
   * Runs a call up to its first output. A failure that is not retryable, such as a refused request, does not count; nor does a caller
   * who leaves, unless it was the trial, which has then shown nothing.
   */
  run<T>(begin: () => Promise<T>): Promise<T>;
}

type Place = Pick<Model, 'providerId' | 'modelId'>;

/** What is known of one model of one provider by the calls of all tenants. */
interface ModelState {
  place: Place;
  /** The end of the `Retry-After` of a rate limit, by the clock of the breakers. */
  pausedUntilMs: number;
  outage: ModelOutage;
  lastFailure?: ModelErrorKind;
}

/** The longest `Retry-After` that keeps a model out. */
const longestPauseMs = 60_000;
const maxModels = 500;
const maxBreakers = 5_000;

const monotonic = () => performance.now();

export type Breakers = ReturnType<typeof createBreakers>;

/**
 * One breaker for each tenant and model, since a request itself can make a provider fail, e.g. an image that it cannot decode: a tenant is
 * kept out by failures of its own, unless the model fails for several others too (`modelOutage`). The `Retry-After` of a rate limit holds
 * for all, that of any other failure for its tenant.
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
    /** The models that have kept somebody out and have answered nobody since; half an hour after the last time that is over. */
    failing(): Place[] {
      const isFailing = ({ pausedUntilMs, outage }: ModelState) => now() < pausedUntilMs || outage.isKnown();
      return [...models.values()].filter(isFailing).map(({ place }) => place);
    },
  };
}

/** The trial ended with no answer of the provider, e.g. its caller left. cockatiel takes an error that it does not handle for a success. */
class UnansweredTrial extends Error {}

function breakerOf(
  model: ModelState,
  tenantId: number,
  { failures, now }: { failures: number; now: () => number },
): Breaker {
  const { outage } = model;
  let openedAtMs = 0;
  /** The outages that had ended when it opened. */
  let ended = 0;
  let pausedUntilMs = 0;
  /** Its trial showed nothing: it does not take the next one before all others could. */
  let isUndecided = false;
  const isOver = () => {
    if (ended < outage.ended) return true;
    if (outage.isEnding) return !outage.keepsOut(tenantId);
    return now() >= openedAtMs + (isUndecided ? outage.longestMs : outage.openMs);
  };
  // Not by cockatiel's clock, which may be set back.
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
      const leftMs = Math.max(model.pausedUntilMs, pausedUntilMs) - now();
      return leftMs > 0 ? Math.ceil(leftMs) : Number.POSITIVE_INFINITY;
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

  /** @param enough how many failures in a row open the circuit, asked at each of them. */
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
