import { type CircuitBreakerPolicy, CircuitState, circuitBreaker, handleWhen, type IBreaker } from 'cockatiel';
import { LRUCache } from 'lru-cache';
import type { Model } from './model.ts';
import { ModelError, type ModelErrorKind } from './model-error.ts';

export interface BreakerOptions {
  /** Failures in a row of one tenant that open it. Default 5. */
  failures?: number;
  /** How long it stays open before one call tries again, in ms. Default 10,000. */
  openMs?: number;
}

/** Keeps a tenant's calls from one model of one provider while they fail. */
export interface Breaker {
  /** Whether no call is let through now: it is open, its one trial call is running, or the provider asked to wait. */
  readonly isOpen: boolean;
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
  /** The end of the provider's `Retry-After`, in ms since the epoch. */
  pausedUntilMs: number;
  openedAtMs: number;
  /** For whom a breaker opened since the model last answered anybody. */
  failingFor: Set<number>;
  lastFailure?: ModelErrorKind;
}

/** The longest `Retry-After` that keeps a model out. */
const longestPauseMs = 60_000;
const mostModels = 500;
const mostBreakers = 5_000;
/** How long a model that nobody asks any more is said to fail, so that an alert about it ends. */
const failingMs = 30 * 60_000;
/** For so many other tenants a model fails before a tenant's first failure suffices. */
const enoughTenants = 2;

export type Breakers = ReturnType<typeof createBreakers>;

/**
 * One breaker for each tenant and model, since a request itself can make a provider fail, e.g. an image that it cannot decode: a tenant is
 * kept out by failures of its own only. One of them is enough where the model fails for several others and has answered nobody since. A
 * provider's `Retry-After` holds for all.
 */
export function createBreakers({ failures = 5, openMs = 10_000 }: BreakerOptions = {}) {
  const models = new LRUCache<string, ModelState>({ max: mostModels });
  const breakers = new LRUCache<string, Breaker>({ max: mostBreakers });

  function stateOf(key: string, { providerId, modelId }: Place): ModelState {
    const known = models.get(key);
    if (known) return known;
    const state = { place: { providerId, modelId }, pausedUntilMs: 0, openedAtMs: 0, failingFor: new Set<number>() };
    models.set(key, state);
    return state;
  }

  return {
    of(place: Place, tenantId: number): Breaker {
      const key = JSON.stringify([place.providerId, place.modelId]);
      const state = stateOf(key, place);
      const breaker = breakers.get(`${tenantId} ${key}`) ?? breakerOf(state, tenantId, failures, openMs);
      breakers.set(`${tenantId} ${key}`, breaker);
      return breaker;
    },
    /** The models that have kept somebody out and have answered nobody since; half an hour after the last time that is over. */
    failing(): Place[] {
      const now = Date.now();
      const isFailing = ({ pausedUntilMs, openedAtMs, failingFor }: ModelState) =>
        now < pausedUntilMs || (failingFor.size > 0 && now < openedAtMs + failingMs);
      return [...models.values()].filter(isFailing).map(({ place }) => place);
    },
  };
}

/** The trial ended with no answer of the provider, e.g. its caller left. cockatiel takes an error that it does not handle for a success. */
class UnansweredTrial extends Error {}

function breakerOf(model: ModelState, tenantId: number, failures: number, openMs: number): Breaker {
  const opened = { duration: openMs, next: () => opened };
  const circuit: CircuitBreakerPolicy = circuitBreaker(
    handleWhen((error) => error instanceof UnansweredTrial || (error instanceof ModelError && error.retryable)),
    {
      halfOpenAfter: opened,
      breaker: new ConsecutiveFailures(() => (model.failingFor.size < enoughTenants ? failures : 1)),
    },
  );
  let openUntilMs = 0;
  circuit.onBreak(() => {
    model.openedAtMs = Date.now();
    model.failingFor.add(tenantId);
    openUntilMs = model.openedAtMs + openMs;
  });
  circuit.onReset(() => model.failingFor.clear());
  const note = (error: unknown) => {
    if (!(error instanceof ModelError) || !error.retryable) return;
    model.lastFailure = error.kind;
    if (error.retryAfterMs === undefined) return;
    model.pausedUntilMs = Date.now() + Math.min(error.retryAfterMs, longestPauseMs);
  };

  return {
    get isOpen() {
      const now = Date.now();
      if (now < model.pausedUntilMs || circuit.state === CircuitState.HalfOpen) return true;
      return circuit.state === CircuitState.Open && now < openUntilMs;
    },
    get lastFailure() {
      return model.lastFailure;
    },
    async run(begin) {
      const tried = async () => {
        const isTrial = circuit.state === CircuitState.HalfOpen;
        try {
          const answer = await begin();
          model.failingFor.clear();
          return answer;
        } catch (error) {
          note(error);
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
