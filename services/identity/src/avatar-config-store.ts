import type { TenantDb } from '@parley/chassis/database/types';
import {
  type AvatarConfig,
  type AvatarGender,
  type AvatarSettings,
  avatarDefaults,
  type VoiceTier,
} from './avatar-config.ts';

interface AvatarConfigRow {
  id: number;
  tenant_id: number;
  gender: AvatarGender;
  glb_model: string;
  voice_tier: VoiceTier;
  language_code: string;
  speaking_rate: number;
  live_talking_url: string | null;
  created_at: Date;
  updated_at: Date;
}

export function avatarConfigStore({ knex, tenantId }: TenantDb) {
  const mine = () => knex<AvatarConfigRow>('avatar_configs').where({ tenant_id: tenantId });

  async function makeDefault(): Promise<void> {
    await knex('avatar_configs')
      .insert({ tenant_id: tenantId, ...toRow(avatarDefaults) })
      .onConflict('tenant_id')
      .ignore();
  }

  return {
    makeDefault,

    /** The tenant's one row, with the defaults where it has none yet. */
    async get(): Promise<AvatarConfig> {
      let row = await mine().first();
      if (!row) {
        await makeDefault();
        row = await mine().first();
      }
      if (!row) throw new Error(`tenant ${tenantId} has no avatar configuration`);
      return fromRow(row);
    },

    /** Left out stays. */
    async update(changes: Partial<AvatarSettings>): Promise<AvatarConfig> {
      await makeDefault();
      const [row] = await mine()
        .update({ ...toRow(changes), updated_at: knex.raw('parley_now()') })
        .returning('*');
      if (!row) throw new Error(`tenant ${tenantId} has no avatar configuration`);
      return fromRow(row);
    },
  };
}

function toRow(settings: Partial<AvatarSettings>) {
  return {
    ...(settings.gender !== undefined && { gender: settings.gender }),
    ...(settings.glbModel !== undefined && { glb_model: settings.glbModel }),
    ...(settings.voiceTier !== undefined && { voice_tier: settings.voiceTier }),
    ...(settings.languageCode !== undefined && { language_code: settings.languageCode }),
    ...(settings.speakingRate !== undefined && { speaking_rate: settings.speakingRate }),
    ...(settings.liveTalkingUrl !== undefined && { live_talking_url: settings.liveTalkingUrl }),
  };
}

function fromRow(row: AvatarConfigRow): AvatarConfig {
  return {
    id: row.id,
    gender: row.gender,
    glbModel: row.glb_model,
    voiceTier: row.voice_tier,
    languageCode: row.language_code,
    speakingRate: row.speaking_rate,
    liveTalkingUrl: row.live_talking_url,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
