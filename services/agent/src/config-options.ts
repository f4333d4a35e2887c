import type { AgentConfigOptionsDto } from './generated/schema.ts';
import type { Ports } from './ports.ts';

/** Suggested values for an agent's free-text fields. */
export async function configOptions({
  catalogue,
  documentation,
}: Pick<Ports, 'catalogue' | 'documentation'>): Promise<AgentConfigOptionsDto> {
  const { avatarModels, voices } = await catalogue.read();
  return { avatarModels, recommendedTtsVoices: voices, ...documentation };
}
