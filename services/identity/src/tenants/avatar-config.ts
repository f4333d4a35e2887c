import { between, graphEnum, text } from '@parley/kernel/input';
import { z } from 'zod';
import type { AvatarGender, VoiceTier } from '../generated/schema.ts';

export const avatarSettings = z.object({
  gender: graphEnum<AvatarGender>(),
  glbModel: text(255).refine((name) => !/[/\\]/.test(name), 'must be a file name, without a folder'),
  voiceTier: graphEnum<VoiceTier>(),
  languageCode: text(35).refine(isLanguage, 'is not a language code such as en-US'),
  speakingRate: between(0.25, 4),
  liveTalkingUrl: text(2_048).refine(isUrl, 'is not an http, https, ws or wss URL').nullable(),
});

export type AvatarSettings = z.output<typeof avatarSettings>;

export interface AvatarConfig extends AvatarSettings {
  id: number;
  createdAt: Date;
  updatedAt: Date;
}

export const avatarDefaults: AvatarSettings = {
  gender: 'FEMALE',
  glbModel: 'aria.glb',
  voiceTier: 'STANDARD',
  languageCode: 'en-US',
  speakingRate: 1,
  liveTalkingUrl: null,
};

function isLanguage(code: string): boolean {
  try {
    return Intl.getCanonicalLocales(code).length === 1;
  } catch {
    return false;
  }
}

function isUrl(given: string): boolean {
  const url = URL.parse(given);
  return url !== null && ['http:', 'https:', 'ws:', 'wss:'].includes(url.protocol) && !url.username && !url.password;
}
