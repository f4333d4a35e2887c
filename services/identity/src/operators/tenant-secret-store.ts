import type { TenantDb } from '@parley/postgres/database/types';

export interface ListedSecret {
  name: string;
  createdAt: Date;
  updatedAt: Date;
}

export function tenantSecretStore({ knex, tenantId }: TenantDb) {
  const mine = () => knex('tenant_secrets').where({ tenantId });

  return {
    async list(): Promise<ListedSecret[]> {
      return mine().orderBy('name').select<ListedSecret[]>('name', 'createdAt', 'updatedAt');
    },

    async has(name: string): Promise<boolean> {
      return (await mine().where({ name }).first('name')) !== undefined;
    },

    async findSealed(name: string): Promise<Buffer | undefined> {
      return (await mine().where({ name }).first('valueSealed'))?.valueSealed;
    },

    async put(name: string, valueSealed: Buffer): Promise<void> {
      await knex('tenant_secrets')
        .insert({ tenantId, name, valueSealed })
        .onConflict(['tenantId', 'name'])
        .merge({ valueSealed, updatedAt: knex.raw('parley_now()') });
    },

    async remove(name: string): Promise<boolean> {
      return (await mine().where({ name }).delete()) > 0;
    },

    async removeAll(): Promise<void> {
      await mine().delete();
    },
  };
}
