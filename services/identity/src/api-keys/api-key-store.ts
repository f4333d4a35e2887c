import { rowsBy } from '@parley/postgres/database/rows';
import type { SharedDb, Transaction } from '@parley/postgres/database/types';

export interface ApiKeyOwner {
  apiKeyId: number;
  tenantId: number;
  tenantSuspended: boolean;
}

export interface ResolvedApiKey extends ApiKeyOwner {
  keySha256: Buffer;
}

/** Returns the owners of live keys, in no order. */
export async function apiKeyOwners({ knex }: Transaction, keys: Buffer[]): Promise<ResolvedApiKey[]> {
  return rowsBy(knex)<ResolvedApiKey>(
    `SELECT k.key_sha256, k.id AS api_key_id, k.tenant_id, t.suspended_by_tenant OR t.suspended_by_operator AS tenant_suspended
       FROM api_keys k JOIN tenants t ON t.id = k.tenant_id AND t.deleted_at IS NULL
      WHERE k.key_sha256 = ANY (cast(:keys AS bytea[])) AND k.revoked_at IS NULL`,
    { keys },
  );
}

export function apiKeyStore({ knex }: SharedDb) {
  return {
    async insert(key: { tenantId: number; keySha256: Buffer; createdBy: number }): Promise<void> {
      await knex('api_keys').insert(key);
    },

    /** Returns the id of the tenant's live key; undefined if the tenant has none. */
    async liveKeyOf(tenantId: number): Promise<number | undefined> {
      const [key] = await knex('api_keys').where({ tenantId }).whereNull('revokedAt').select('id');
      return key?.id;
    },

    async revokeAll(tenantId: number): Promise<void> {
      await knex('api_keys')
        .where({ tenantId })
        .whereNull('revokedAt')
        .update({ revokedAt: knex.raw('parley_now()') });
    },

    /** Revokes the keys of the tenants that a user owns, and returns these tenants. */
    async revokeOfOwner(userId: number): Promise<number[]> {
      const revoked = await knex('api_keys')
        .whereIn('tenantId', knex('memberships').where({ userId, role: 'OWNER' }).select('tenantId'))
        .whereNull('revokedAt')
        .update({ revokedAt: knex.raw('parley_now()') })
        .returning('tenantId');
      return revoked.map(({ tenantId }) => tenantId);
    },
  };
}
