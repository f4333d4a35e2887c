import type { TenantDb } from '@parley/postgres/database/types';

/** How long a `requestId` can be subscribed to. */
const validFor = `interval '10 minutes'`;

export function textGenerationStore({ knex, tenantId }: TenantDb) {
  return {
    /** Stores a request id, and deletes the expired request ids of all tenants. */
    async insert(requestId: string): Promise<void> {
      await Promise.all([
        knex.raw(`DELETE FROM text_generations WHERE created_at < parley_now() - ${validFor}`),
        knex('text_generations').insert({ requestId, tenantId }),
      ]);
    },

    async isValid(requestId: string): Promise<boolean> {
      const { rows } = await knex.raw(
        `SELECT FROM text_generations
          WHERE tenant_id = ? AND request_id = ? AND created_at >= parley_now() - ${validFor}`,
        [tenantId, requestId],
      );
      return rows.length > 0;
    },
  };
}
