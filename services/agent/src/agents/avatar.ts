import type { Avatar } from '@parley/protos/parley/agent/v1/agent';
import type { GetAvatarConfigResponse } from '@parley/protos/parley/identity/v1/identity';
import type { AvatarGenderCode } from '../generated/schema.ts';
import type { Agent } from './agent.ts';
import { recommendedVoice } from './catalogue.ts';

type AvatarFields = Pick<
  Agent,
  | 'avatarGlb'
  | 'avatarGender'
  | 'ttsVoice'
  | 'ttsLang'
  | 'lipsyncLang'
  | 'speakingRate'
  | 'vadThreshold'
  | 'avatarBackend'
  | 'avatarBackendConfig'
>;

/**
 * Returns the looks and voice of an agent: the agent's own settings, else the tenant's, else the platform's default for
 * language and gender.
 */
export function avatarOf(agent: AvatarFields, tenant: GetAvatarConfigResponse): Avatar {
  const gender: AvatarGenderCode = agent.avatarGender ?? (tenant.gender === 'MALE' ? 'M' : 'F');
  const ttsLang = agent.ttsLang ?? tenant.languageCode;
  const { avatarBackend, avatarBackendConfig } = agent;
  return {
    glb: agent.avatarGlb ?? tenant.glbModel,
    gender,
    ttsVoice: agent.ttsVoice ?? recommendedVoice(ttsLang, gender),
    ttsLang,
    lipsyncLang: agent.lipsyncLang ?? (languageOf(ttsLang) || ttsLang),
    speakingRate: agent.speakingRate ?? tenant.speakingRate,
    vadThreshold: agent.vadThreshold,
    hosted: avatarBackend === 'HOSTED_API' && avatarBackendConfig ? avatarBackendConfig : undefined,
  };
}

/** Returns the language of a tag: `en` for `en-US`. */
function languageOf(tag: string): string {
  return tag.split(/[-_]/u, 1)[0]?.toLowerCase() ?? '';
}
