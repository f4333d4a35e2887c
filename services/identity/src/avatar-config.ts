export type AvatarGender = 'FEMALE' | 'MALE';
export type VoiceTier = 'STANDARD' | 'WAVENET' | 'NEURAL2';

/** A tenant's avatar and voice defaults. */
export interface AvatarConfig {
  id: number;
  gender: AvatarGender;
  /** File name of a 3D model. */
  glbModel: string;
  voiceTier: VoiceTier;
  languageCode: string;
  speakingRate: number;
  liveTalkingUrl: string | null;
  createdAt: Date;
  updatedAt: Date;
}

export type AvatarSettings = Omit<AvatarConfig, 'id' | 'createdAt' | 'updatedAt'>;

/** What a tenant begins with; the model is the first one of the avatar catalogue. */
export const avatarDefaults: AvatarSettings = {
  gender: 'FEMALE',
  glbModel: 'aria.glb',
  voiceTier: 'STANDARD',
  languageCode: 'en-US',
  speakingRate: 1,
  liveTalkingUrl: null,
};
