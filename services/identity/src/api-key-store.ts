import type { SharedDb } from '@parley/chassis/database/types';

export interface ApiKeyOwner {
  apiKeyId: number;
  tenantId: number;
  tenantSuspended: boolean;
}

export function apiKeyStore({ knex }: SharedDb) {
  return {
    /** The tenant of a live key, while the tenant itself lives. */
    async findOwner(keySha256: Buffer): Promise<ApiKeyOwner | undefined> {
      const { rows } = await knex.raw(
        `SELECT k.id AS "apiKeyId", k.tenant_id AS "tenantId",
                t.suspended_by_tenant OR t.suspended_by_operator AS "tenantSuspended"
           FROM api_keys k JOIN tenants t ON t.id = k.tenant_id AND t.deleted_at IS NULL
          WHERE k.key_sha256 = ? AND k.revoked_at IS NULL`,
        [keySha256],
      );
      return rows[0];
    },

    async insert(key: { tenantId: number; sha256: Buffer; createdBy: number }): Promise<void> {
      await knex('api_keys').insert({ tenant_id: key.tenantId, key_sha256: key.sha256, created_by: key.createdBy });
    },

    async revokeAll(tenantId: number): Promise<void> {
      await knex('api_keys')
        .where({ tenant_id: tenantId })
        .whereNull('revoked_at')
        .update({ revoked_at: knex.raw('parley_now()') });
    },
  };
}
