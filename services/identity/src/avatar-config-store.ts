import type { TenantDb } from '@parley/postgres/database/types';
import { type AvatarConfig, type AvatarSettings, avatarDefaults } from './avatar-config.ts';

export function avatarConfigStore({ knex, tenantId }: TenantDb) {
  const mine = () => knex<AvatarConfig & { tenantId: number }>('avatar_configs').where({ tenantId });

  async function makeDefault(): Promise<void> {
    await knex('avatar_configs')
      .insert({ tenantId, ...avatarDefaults })
      .onConflict('tenantId')
      .ignore();
  }

  return {
    makeDefault,

    /** The tenant's one row, with the defaults where it has none yet. */
    async get(): Promise<AvatarConfig> {
      let config = await mine().first();
      if (!config) {
        await makeDefault();
        config = await mine().first();
      }
      if (!config) throw new Error(`tenant ${tenantId} has no avatar configuration`);
      return config;
    },

    /** Left out stays. */
    async update(changes: Partial<AvatarSettings>): Promise<AvatarConfig> {
      await makeDefault();
      const [config] = await mine()
        .update({ ...changes, updatedAt: knex.raw('parley_now()') })
        .returning('*');
      if (!config) throw new Error(`tenant ${tenantId} has no avatar configuration`);
      return config;
    },
  };
}
