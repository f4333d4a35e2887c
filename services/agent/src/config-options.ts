import { builtInCatalogue } from './catalogue.ts';
import type { AgentConfigOptionsDto } from './generated/schema.ts';
import type { Ports } from './ports.ts';

/** Suggested values for an agent's free-text fields. */
export function configOptions({ documentation }: Pick<Ports, 'documentation'>): AgentConfigOptionsDto {
  const { avatarModels, voices } = builtInCatalogue;
  return { avatarModels, recommendedTtsVoices: voices, ...documentation };
}
