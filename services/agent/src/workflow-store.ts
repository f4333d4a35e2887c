import type { TenantDb } from '@parley/postgres/database/types';

export function workflowStore({ knex, tenantId }: TenantDb) {
  return {
    async exists(id: number): Promise<boolean> {
      return (await knex('workflows').where({ tenantId, id }).first('id')) !== undefined;
    },
  };
}
