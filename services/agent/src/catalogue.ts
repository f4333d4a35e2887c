import type { TenantRequest } from '@parley/kernel/caller-request';
import type { AgentConfigOptionsDto, AvatarGenderCode, RecommendedTtsVoiceDto } from './generated/schema.ts';
import type { Ports } from './ports.ts';

export type DocumentationUrls = Pick<
  AgentConfigOptionsDto,
  'ttsVoiceCatalogUrl' | 'sttLanguageCatalogUrl' | 'lipsyncModuleDocsUrl'
>;

/** The 3D models that ship with the client, and voices of eSpeak NG. */
const catalogue: Omit<AgentConfigOptionsDto, keyof DocumentationUrls> = {
  // The first is the default of a new tenant.
  avatarModels: [
    { id: 'aria', filename: 'aria.glb', label: 'Aria', gender: 'FEMALE' },
    { id: 'maya', filename: 'maya.glb', label: 'Maya', gender: 'FEMALE' },
    { id: 'noor', filename: 'noor.glb', label: 'Noor', gender: 'FEMALE' },
    { id: 'leo', filename: 'leo.glb', label: 'Leo', gender: 'MALE' },
    { id: 'kenji', filename: 'kenji.glb', label: 'Kenji', gender: 'MALE' },
    { id: 'omar', filename: 'omar.glb', label: 'Omar', gender: 'MALE' },
  ],
  recommendedTtsVoices: [
    ...pair('en-us', 'en-US'),
    ...pair('en-gb', 'en-GB'),
    ...pair('de', 'de-DE'),
    ...pair('fr-fr', 'fr-FR'),
    ...pair('es', 'es-ES'),
    ...pair('it', 'it-IT'),
    ...pair('pt-br', 'pt-BR'),
    ...pair('hi', 'hi-IN'),
    ...pair('ar', 'ar-SA'),
    ...pair('ja', 'ja-JP'),
    ...pair('cmn', 'zh-CN'),
  ],
};

/** The same for every tenant. */
export function configOptions({ documentation }: Ports, _request: TenantRequest): AgentConfigOptionsDto {
  return { ...catalogue, ...documentation };
}

/** The voice of a language and a gender; of a language without one, that of American English. */
export function recommendedVoice(language: string, gender: AvatarGenderCode): string {
  const voices = catalogue.recommendedTtsVoices.filter(
    (voice) => voice.gender === (gender === 'M' ? 'MALE' : 'FEMALE'),
  );
  const wanted = language.replaceAll('_', '-').toLowerCase();
  const [primary] = wanted.split('-', 1);
  const found =
    voices.find(({ languageCode }) => languageCode.toLowerCase() === wanted) ??
    voices.find(({ languageCode }) => languageCode.toLowerCase().split('-', 1)[0] === primary) ??
    voices[0];
  if (!found) throw new Error('the catalogue has no voice of this gender');
  return found.name;
}

/** In eSpeak NG, variants `+f…` are female and `+m…` male. */
function pair(language: string, languageCode: string): RecommendedTtsVoiceDto[] {
  return [
    { name: `${language}+f3`, languageCode, gender: 'FEMALE', tier: 'STANDARD' },
    { name: `${language}+m3`, languageCode, gender: 'MALE', tier: 'STANDARD' },
  ];
}
