import { type CircuitBreakerPolicy, CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhen } from 'cockatiel';
import type { Model } from './model.ts';
import { ModelError, type ModelErrorKind } from './model-error.ts';

export interface BreakerOptions {
  /** Failures in a row that open it. Default 5. */
  failures?: number;
  /** How long it stays open before one call tries again, in ms. Default 10,000. */
  openMs?: number;
}

/** Keeps calls from one model of one provider while it fails. */
export interface Breaker {
  /** Whether no call is let through now: it is open, its one trial call is running, or the provider asked to wait. */
  readonly isOpen: boolean;
  /** Whether it is open, or was last and no call has succeeded since; half an hour after it opened that is over. */
  readonly isFailing: boolean;
  readonly lastFailure: ModelErrorKind | undefined;
  /**
   * Runs a call up to its first output. A failure that is not retryable, such as a refused request, does not count; nor does a caller
   * who leaves, unless it was the trial, which has then shown nothing.
   */
  run<T>(begin: () => Promise<T>): Promise<T>;
}

/** The longest `Retry-After` that keeps a model out. */
const longestPauseMs = 60_000;
const mostKnown = 500;
/** How long a model that nobody asks any more is said to fail, so that an alert about it ends. */
const failingMs = 30 * 60_000;

export type Breakers = ReturnType<typeof createBreakers>;

/** One breaker for each model of each provider, shared by all tenants of this process. */
export function createBreakers({ failures = 5, openMs = 10_000 }: BreakerOptions = {}) {
  const known = new Map<string, { model: Pick<Model, 'providerId' | 'modelId'>; breaker: Breaker }>();

  function forgetOldest(): void {
    if (known.size < mostKnown) return;
    for (const [key, { breaker }] of known) {
      if (!breaker.isOpen) return void known.delete(key);
    }
  }

  return {
    of({ providerId, modelId }: Pick<Model, 'providerId' | 'modelId'>): Breaker {
      const key = JSON.stringify([providerId, modelId]);
      const { breaker } = known.get(key) ?? { breaker: breakerOf(failures, openMs) };
      known.delete(key);
      forgetOldest();
      known.set(key, { model: { providerId, modelId }, breaker });
      return breaker;
    },
    failing() {
      return [...known.values()].filter(({ breaker }) => breaker.isFailing).map(({ model }) => model);
    },
  };
}

/** The trial ended with no answer of the provider, e.g. its caller left. cockatiel takes an error that it does not handle for a success. */
class UnansweredTrial extends Error {}

function breakerOf(failures: number, openMs: number): Breaker {
  const opened = { duration: openMs, next: () => opened };
  const circuit: CircuitBreakerPolicy = circuitBreaker(
    handleWhen((error) => error instanceof UnansweredTrial || (error instanceof ModelError && error.retryable)),
    { halfOpenAfter: opened, breaker: new ConsecutiveBreaker(failures) },
  );
  let openUntilMs = 0;
  circuit.onBreak(() => {
    openUntilMs = Date.now() + openMs;
  });
  let pausedUntilMs = 0;
  let lastFailure: ModelErrorKind | undefined;
  const note = (error: unknown) => {
    if (!(error instanceof ModelError) || !error.retryable) return;
    lastFailure = error.kind;
    if (error.retryAfterMs === undefined) return;
    pausedUntilMs = Date.now() + Math.min(error.retryAfterMs, longestPauseMs);
  };

  const isOpen = () => {
    const now = Date.now();
    if (now < pausedUntilMs || circuit.state === CircuitState.HalfOpen) return true;
    return circuit.state === CircuitState.Open && now < openUntilMs;
  };

  return {
    get isOpen() {
      return isOpen();
    },
    get isFailing() {
      return isOpen() || (circuit.state === CircuitState.Open && Date.now() < openUntilMs - openMs + failingMs);
    },
    get lastFailure() {
      return lastFailure;
    },
    async run(begin) {
      const tried = async () => {
        const isTrial = circuit.state === CircuitState.HalfOpen;
        try {
          return await begin();
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
