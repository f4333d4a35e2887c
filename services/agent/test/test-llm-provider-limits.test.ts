import { once } from 'node:events';
import { mock } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Database } from '@parley/postgres/database/types';
import { requestOf } from '@parley/testing/request-of';
import test, { type ExecutionContext } from 'ava';
import { testLlmProvider } from '../src/model-choice/test-llm-provider.ts';
import type { Model } from '../src/models/model.ts';
import type { ChosenModel } from '../src/models/models.ts';
import type { ProviderChain } from '../src/models/provider-chain.ts';
import { inTenant, offlinePorts } from './agent-app.ts';

async function untilAborted({ signal }: { signal: AbortSignal }): Promise<void> {
  await once(signal, 'abort');
  signal.throwIfAborted();
}

/** Starts a probe of a provider that gives its slot and its answer only when the test resolves them. */
function probeOf(t: ExecutionContext) {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const slot = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const model = { providerId: 'CLOUD_HOSTED_MODELS', modelId: 'm' } as ChosenModel & Model;
  const chain: ProviderChain = {
    first: model,
    candidates: [{ model, retries: 0 }],
    async *stream(_request, call) {
      await Promise.race([slot.promise, untilAborted(call)]);
      await call.beforeFirst?.();
      yield { type: 'asked', model };
      await Promise.race([answer.promise, untilAborted(call)]);
      yield {
        type: 'finish',
        model,
        finishReason: 'stop',
        tokensIn: 1,
        tokensCached: 0,
        tokensOut: 1,
        estimated: false,
      };
    },
  };
  const ports = offlinePorts({} as Database);
  const models = { ...ports.models, alone: () => chain, isUnpriced: () => false };
  let result: object | undefined;
  testLlmProvider({ ...ports, models }, requestOf(inTenant(1)), { provider: 'CLOUD_HOSTED_MODELS' }).then(
    (given) => (result = given),
    (error: unknown) => (result = { thrown: error }),
  );
  return {
    slot,
    answer,
    /** Advances the clock by `ms` milliseconds and returns the probe's result; undefined if the probe still waits. */
    async after(ms: number) {
      await setImmediate();
      mock.timers.tick(ms);
      await setImmediate();
      return result;
    },
  };
}

test.serial('a test waits 10 s for a place at the provider, and not longer', async (t) => {
  const { after } = probeOf(t);
  t.is(await after(9_999), undefined);
  t.like(await after(1), { ok: false, latencyMs: null, error: 'All places at this provider are taken' });
});

test.serial('a test waits 18 s for the answer, from when the model is asked, and not longer', async (t) => {
  const { slot, after } = probeOf(t);
  t.is(await after(9_000), undefined);
  slot.resolve();
  t.is(await after(0), undefined);
  t.is(await after(17_999), undefined);
  t.like(await after(1), { ok: false, latencyMs: null, error: 'The model did not answer in time' });
});

test.serial('testLlmProvider succeeds if slot and answer arrive within their time limits', async (t) => {
  const { slot, answer, after } = probeOf(t);
  t.is(await after(9_999), undefined);
  slot.resolve();
  t.is(await after(0), undefined);
  t.is(await after(17_999), undefined);
  answer.resolve();
  t.like(await after(0), { ok: true, error: null });
});
