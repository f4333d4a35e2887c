import type { TenantRequest } from '@parley/kernel/caller-request';
import type { AgentConfigOptionsDto, AvatarGenderCode, RecommendedTtsVoiceDto } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';

/** Voices of eSpeak NG. */
const recommendedTtsVoices: RecommendedTtsVoiceDto[] = [
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
];

/** Returns the options that are the same for every tenant: the models of the voice service, the recommended voices, and links. */
export async function configOptions(
  { avatarModels, documentation }: Ports,
  _request: TenantRequest,
): Promise<AgentConfigOptionsDto> {
  return { avatarModels: await avatarModels.list(), recommendedTtsVoices, ...documentation };
}

/** Returns the recommended voice for a language and gender. Languages without a voice get American English. */
export function recommendedVoice(language: string, gender: AvatarGenderCode): string {
  const voices = recommendedTtsVoices.filter((voice) => voice.gender === (gender === 'M' ? 'MALE' : 'FEMALE'));
  const wanted = language.replaceAll('_', '-').toLowerCase();
  const [primary] = wanted.split('-', 1);
  const found =
    voices.find(({ languageCode }) => languageCode.toLowerCase() === wanted) ??
    voices.find(({ languageCode }) => languageCode.toLowerCase().split('-', 1)[0] === primary) ??
    voices[0];
  if (!found) throw new Error('the catalogue has no voice of this gender');
  return found.name;
}

/** Returns a female and a male voice of a language. eSpeak NG's names for the variants are `+f…` and `+m…`. */
function pair(language: string, languageCode: string): RecommendedTtsVoiceDto[] {
  return [
    { name: `${language}+f3`, languageCode, gender: 'FEMALE', tier: 'STANDARD' },
    { name: `${language}+m3`, languageCode, gender: 'MALE', tier: 'STANDARD' },
  ];
}
