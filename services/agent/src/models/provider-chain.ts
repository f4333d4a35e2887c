import type { Logger } from '@parley/kernel/telemetry/log';
import { backoff } from '@parley/kernel/timing/backoff';
import { sleep } from '@parley/kernel/timing/timers';
import { isBrokenCircuitError } from 'cockatiel';
import type { Breakers } from './breakers.ts';
import {
  type FinishReason,
  type Model,
  type ModelEvent,
  type ModelRequest,
  noUsage,
  type TokenUsage,
  type ToolCallEvent,
} from './model.ts';
import { ModelError } from './model-error.ts';
import type { ModelMetrics } from './model-metrics.ts';
import type { ChosenModel } from './models.ts';

/** A model that may answer a call, and the number of its retries before the next model is asked. */
export interface Candidate {
  model: ChosenModel;
  retries: number;
}

export interface ChainCall {
  /** The tenant whose breakers apply. */
  tenantId: number;
  signal: AbortSignal;
  /** Called with the thoughts of the current model, as in `ModelCall`. */
  onThought?: (text: string) => void;
  acquireSlot(model: ChosenModel): Promise<Disposable>;
  /** Called once, when a slot is held and before the first model is asked. If it throws, the call ends with that error. */
  beforeFirst?: (() => Promise<void>) | undefined;
}

/**
 * `asked`: a model is asked now. Text and tool calls follow, then one `finish` of the model that answered.
 * `abandoned`: the model failed before its first event, or its breaker opened. Its provider may charge for `usage`. The
 * chain asks the next model, or fails if there is none.
 */
export type ChainEvent =
  | { type: 'asked'; model: Model }
  | { type: 'abandoned'; model: Model; usage: TokenUsage }
  | { type: 'text'; text: string }
  | ToolCallEvent
  | ({ type: 'finish'; model: Model; finishReason: FinishReason } & TokenUsage);

export interface ProviderChain {
  readonly first: ChosenModel;
  readonly candidates: readonly Candidate[];
  stream(request: ModelRequest, call: ChainCall): AsyncGenerator<ChainEvent>;
}

export interface ChainDependencies {
  breakers: Pick<Breakers, 'of'>;
  log: Pick<Logger, 'warn'>;
  metrics: Pick<ModelMetrics, 'fellBack' | 'called' | 'firstChunk' | 'used'>;
}

interface Begun {
  model: ChosenModel;
  slot: Disposable;
  events: AsyncIterator<ModelEvent>;
  first: IteratorResult<ModelEvent>;
  seconds(): number;
}

const longestRetryMs = 2_000;
/** If every provider asks for a pause, the chain waits for at most this long. It is shorter than the callers' time limits. */
const longestLastWaitMs = 15_000;
const pauseAfter = backoff({ firstMs: 200, maxMs: longestRetryMs });

/**
 * Asks the candidates in order. After a failure that may be temporary (`ModelError.retryable`) it asks the next candidate. A failure after
 * the first output does not count as temporary.
 */
export function providerChain(
  candidates: readonly [Candidate, ...Candidate[]],
  deps: ChainDependencies,
): ProviderChain {
  const [{ model: first }] = candidates;
  const last = candidates.at(-1)?.model ?? first;

  function keptOut(model: ChosenModel, tenantId: number): ModelError {
    const { lastFailure = 'unreachable' } = deps.breakers.of(model, tenantId);
    return new ModelError(lastFailure, { beforeFirstChunk: true, transient: true });
  }

  /** Returns the candidates that may be asked now. If all providers have asked for a pause and one pause ends soon, waits for its end. */
  async function readyFor({ tenantId, signal }: ChainCall): Promise<readonly Candidate[]> {
    const ready = () => candidates.filter(({ model }) => !deps.breakers.of(model, tenantId).isOpen);
    const now = ready();
    if (now.length > 0) return now;
    const waitMs = Math.min(...candidates.map(({ model }) => deps.breakers.of(model, tenantId).pausedForMs));
    if (waitMs > longestLastWaitMs) return now;
    await sleep(waitMs, signal);
    signal.throwIfAborted();
    return ready();
  }

  async function* reach(request: ModelRequest, call: ChainCall): AsyncGenerator<ChainEvent, Begun> {
    let isFirst = true;
    let failure: ModelError | undefined;
    const ready = await readyFor(call);
    for (const [index, { model, retries }] of ready.entries()) {
      for (let attempt = 0; ; attempt += 1) {
        call.signal.throwIfAborted();
        using held = new DisposableStack();
        held.use(await call.acquireSlot(model));
        try {
          if (isFirst) await call.beforeFirst?.();
          isFirst = false;
          call.signal.throwIfAborted();
          yield { type: 'asked', model };
          const seconds = stopwatch();
          const { signal, onThought } = call;
          const events = model.stream(request, { signal, onThought })[Symbol.asyncIterator]();
          const first = await deps.breakers
            .of(model, call.tenantId)
            .run(() => events.next())
            .catch((error: unknown) => {
              if (!isBrokenCircuitError(error)) deps.metrics.called(model, seconds(), errorTypeOf(error));
              throw error;
            });
          return { model, slot: held.move(), events, first, seconds };
        } catch (error) {
          if (isBrokenCircuitError(error)) {
            failure ??= keptOut(model, call.tenantId); // the breaker has opened since it was checked
            yield { type: 'abandoned', model, usage: noUsage };
            break;
          }
          if (error instanceof ModelError) error.isFallback = model !== first;
          if (!(error instanceof ModelError) || !error.retryable) throw error;
          failure = error;
          const isLast = index === ready.length - 1;
          const isLastHere = attempt === retries || !isWorthRetry(error, isLast ? longestLastWaitMs : longestRetryMs);
          if (isLastHere && isLast) break;
          yield { type: 'abandoned', model, usage: error.usage };
          if (isLastHere) break;
        }
        held.dispose();
        await sleep(Math.max(failure.retryAfterMs ?? 0, pauseAfter(attempt + 1)), call.signal);
      }
      const next = ready[index + 1];
      if (!next) break;
      deps.metrics.fellBack(model, next.model);
      deps.log.warn(
        { from: placeOf(model), to: placeOf(next.model), kind: failure.kind },
        'falling back to the next model',
      );
    }
    throw failure ?? keptOut(last, call.tenantId);
  }

  return {
    first,
    candidates,

    async *stream(request, call) {
      const { model, slot, events, first: begun, seconds } = yield* reach(request, call);
      using _slot = slot;
      deps.metrics.firstChunk(model, seconds());
      let outcome = 'cancelled';
      try {
        for (let next = begun; !next.done; next = await events.next()) {
          if (next.value.type !== 'finish') {
            yield next.value;
            continue;
          }
          deps.metrics.used(model, next.value);
          outcome = '';
          yield { ...next.value, model };
        }
      } catch (error) {
        outcome = errorTypeOf(error);
        throw error;
      } finally {
        deps.metrics.called(model, seconds(), outcome);
        await events.return?.();
      }
    },
  };
}

/** Reports whether to retry the same model. A model that used up its first-token timeout is not retried. */
function isWorthRetry({ kind, retryAfterMs = 0 }: ModelError, longestMs: number): boolean {
  return kind !== 'timedOut' && retryAfterMs <= longestMs;
}

function stopwatch(): () => number {
  const startedAt = performance.now();
  return () => (performance.now() - startedAt) / 1000;
}

function errorTypeOf(error: unknown): string {
  return error instanceof ModelError ? error.kind : 'cancelled';
}

function placeOf({ providerId, modelId }: Model): string {
  return `${providerId} ${modelId}`;
}
