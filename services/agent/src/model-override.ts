import { type DomainError, invalid } from '@parley/kernel/errors';
import type { AgentFields } from './agent.ts';
import type { Ports } from './ports.ts';

/** The provider whose models tenants may name. */
export const multiModelProvider = 'CLOUD_HOSTED_MODELS';

/** @throws DomainError `invalid` for a model that has no price: nobody could say what it costs. */
export function checkModelOverride(
  { models }: Pick<Ports, 'models'>,
  given: Pick<Partial<AgentFields>, 'llmModelOverride'>,
): void {
  const { llmModelOverride: model } = given;
  if (model && models.isUnpriced({ provider: multiModelProvider, model })) throw unpriced('input.llmModelOverride');
}

export function unpriced(path: string): DomainError {
  return invalid({ path, message: 'names a model that has no price here' });
}
