import type { AvatarModel, DocumentationUrls, RecommendedVoice } from './catalogue.ts';
import type { Ports } from './ports.ts';

/** What an agent's free-text fields may sensibly hold. */
export interface ConfigOptions extends DocumentationUrls {
  avatarModels: AvatarModel[];
  recommendedTtsVoices: RecommendedVoice[];
}

export async function configOptions({
  catalogue,
  documentation,
}: Pick<Ports, 'catalogue' | 'documentation'>): Promise<ConfigOptions> {
  const { avatarModels, voices } = await catalogue.read();
  return { avatarModels, recommendedTtsVoices: voices, ...documentation };
}
