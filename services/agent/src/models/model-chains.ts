import type { Logger } from '@parley/kernel/telemetry/log';
import type { Metrics } from '@parley/kernel/telemetry/metrics';
import { mayBeNamed } from '@parley/metering/model-price';
import { type Breaker, createBreakers } from './breakers.ts';
import { modelMetrics } from './model-metrics.ts';
import type { Models } from './models.ts';
import { type Candidate, type ProviderChain, providerChain } from './provider-chain.ts';

/** A provider and one of its models. Both come from the same source, e.g. an agent's override. */
export interface ModelChoice {
  provider?: string | null | undefined;
  /** Id of the model. Default: the provider's default model. Ignored if `provider` is not given, or if the provider has a fixed model. */
  model?: string | null | undefined;
}

export type ModelChains = ReturnType<typeof modelChains>;

/** Creates the chains of models for calls: the chosen model, then the fallbacks. */
export function modelChains(models: Models, log: Logger, metrics: Metrics) {
  const breakers = createBreakers();
  const measured = modelMetrics(metrics, breakers, models.describe());
  const deps = { breakers, log, metrics: measured };

  const find = ({ provider }: ModelChoice) => (provider ? models.find(provider) : undefined);
  const candidate = ({ model: modelOf, retries }: Pick<Models['first'], 'model' | 'retries'>, id?: string | null) =>
    ({ model: modelOf(id ?? undefined), retries }) satisfies Candidate;

  return {
    metrics: measured,
    chain(choice: ModelChoice = {}): ProviderChain {
      const asked = find(choice);
      const first = asked ?? models.first;
      const others = models.fallbacks.filter(({ id }) => id !== first.id);
      return providerChain([candidate(first, asked && choice.model), ...others.map((each) => candidate(each))], deps);
    },
    /** Returns a chain of one model, without fallbacks, retries and breaker; undefined if the provider is not configured. */
    alone(choice: ModelChoice): ProviderChain | undefined {
      const asked = find(choice);
      if (!asked) return undefined;
      return providerChain([{ ...candidate(asked, choice.model), retries: 0 }], {
        ...deps,
        breakers: { of: () => none },
      });
    },
    /**
     * Reports whether the model is forbidden for tenants: the operator has not configured it, and it either has no price above 0 or
     * generates no text.
     */
    isUnpriced(choice: ModelChoice): boolean {
      const { provider, model } = choice;
      if (!model || provider === 'HOSTED_SMALL_MODEL' || model === find(choice)?.model().modelId) return false;
      return !mayBeNamed(models.prices.find(model));
    },
    /** Reports whether the price table lists the model as an embedding model, which generates no text. */
    embeds: ({ model }: ModelChoice): boolean => models.prices.find(model ?? '')?.embeds === true,
    describe: () => models.describe(),
    close: () => models.close(),
  };
}

const none: Breaker = {
  isOpen: false,
  pausedForMs: Number.POSITIVE_INFINITY,
  lastFailure: undefined,
  run: (begin) => begin(),
};
