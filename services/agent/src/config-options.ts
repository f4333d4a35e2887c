import type { AvatarModel, RecommendedVoice } from './catalogue.ts';
import type { Ports } from './ports.ts';

/** Where people read on about voices, languages and lip-sync. */
export interface DocumentationUrls {
  ttsVoiceCatalogUrl: string;
  sttLanguageCatalogUrl: string;
  lipsyncModuleDocsUrl: string;
}

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
