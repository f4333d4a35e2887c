import { invalid } from '@parley/kernel/errors';
import { namesEmbeddings } from '@parley/metering/model-price';
import type { AgentFields } from '../agents/agent-input.ts';
import type { ModelChains, ModelChoice } from '../models/model-chains.ts';

/** The only provider for which tenants may choose the model. */
export const multiModelProvider = 'CLOUD_HOSTED_MODELS';

/** @throws DomainError `invalid`: the model has no price, so that its spend could not be counted, or the model is an embedding model */
export function checkModelOverride(
  { models }: { models: ModelChains },
  given: Pick<Partial<AgentFields>, 'llmModelOverride'>,
): void {
  const { llmModelOverride: model } = given;
  checkNamedModel({ models }, { provider: multiModelProvider, model }, 'input.llmModelOverride');
}

/**
 * @throws DomainError `invalid` if tenants may not choose this model
 * @param path the input field that names the model
 */
export function checkNamedModel({ models }: { models: ModelChains }, choice: ModelChoice, path: string): void {
  if (!models.isUnpriced(choice)) return;
  const message = models.embeds(choice) ? namesEmbeddings : 'names a model that has no price here';
  throw invalid({ path, message });
}
