import { columnsOf } from '@parley/postgres/database/table';
import type { SharedDb } from '@parley/postgres/database/types';
import { type MembershipRole, type Tenant, tenants } from './tenant.ts';

export type NewTenant = Pick<Tenant, 'name' | 'plan' | 'region' | 'llmProviderOverride' | 'llmModelOverride'>;

/** Whose tenant it is to be, if it is that of a company. */
export interface OfCompany {
  idpOneCompany?: string;
}

export interface TenantChanges extends Partial<NewTenant> {
  suspendedByTenant?: boolean;
}

const columns = columnsOf(tenants);

export function tenantStore({ knex }: SharedDb) {
  const now = knex.raw('parley_now()');
  const allColumns = knex.raw(columns);

  return {
    async insert(tenant: NewTenant & OfCompany, ownerId: number): Promise<Tenant> {
      const [created] = await knex('tenants')
        .insert({ ...tenant, createdBy: ownerId })
        .returning(allColumns);
      await knex('memberships').insert({ userId: ownerId, tenantId: created.id, role: 'OWNER' });
      return created;
    },

    /** Includes deleted tenants. */
    async find(id: number): Promise<Tenant | undefined> {
      return knex('tenants').where({ id }).first(allColumns);
    },

    /** Locks a live tenant until the transaction ends; undefined if it is deleted or the user is not a member. */
    async lockForMember(id: number, userId: number): Promise<{ tenant: Tenant; role: MembershipRole } | undefined> {
      const tenant = await knex('tenants').where({ id }).whereNull('deletedAt').forNoKeyUpdate().first(allColumns);
      const membership = await knex('memberships').where({ tenantId: id, userId }).first('role');
      return tenant && membership && { tenant, role: membership.role };
    },

    /** Keeps the live tenant of a company from being deleted until the transaction ends. */
    async lockOfCompany(idpOneCompany: string): Promise<number | undefined> {
      return (await knex('tenants').where({ idpOneCompany }).whereNull('deletedAt').forShare().first('id'))?.id;
    },

    async addMember(tenantId: number, userId: number): Promise<void> {
      await knex('memberships').insert({ userId, tenantId, role: 'MEMBER' });
    },

    async update(id: number, changes: TenantChanges): Promise<Tenant> {
      const [tenant] = await knex('tenants')
        .where({ id })
        .update({ ...changes, updatedAt: now })
        .returning(allColumns);
      if (!tenant) throw new Error(`tenant ${id} was locked and is gone`);
      return tenant;
    },

    async softDelete(id: number): Promise<Date> {
      const [tenant] = await knex('tenants')
        .where({ id })
        .update({ deletedAt: now, updatedAt: now })
        .returning('deletedAt');
      if (!tenant) throw new Error(`tenant ${id} was locked and is gone`);
      return tenant.deletedAt;
    },

    async countByUser(userId: number): Promise<{ owned: number; madeIn30Days: number }> {
      const { rows } = await knex.raw(
        `SELECT (SELECT count(*)::int FROM memberships m JOIN tenants t ON t.id = m.tenant_id AND t.deleted_at IS NULL
                  WHERE m.user_id = :userId AND m.role = 'OWNER') AS owned,
                (SELECT count(*)::int FROM tenants
                  WHERE created_by = :userId AND created_at > parley_now() - interval '30 days') AS "madeIn30Days"`,
        { userId },
      );
      return rows[0];
    },
  };
}
