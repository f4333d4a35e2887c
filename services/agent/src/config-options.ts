import type { AgentConfigOptionsDto } from './generated/schema.ts';
import type { Ports } from './ports.ts';

/** What an agent's free-text fields may sensibly hold. */
export async function configOptions({
  catalogue,
  documentation,
}: Pick<Ports, 'catalogue' | 'documentation'>): Promise<AgentConfigOptionsDto> {
  const { avatarModels, voices } = await catalogue.read();
  return { avatarModels, recommendedTtsVoices: voices, ...documentation };
}
