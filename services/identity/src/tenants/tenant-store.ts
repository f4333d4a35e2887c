import { columnsWithin, listWithin } from '@parley/postgres/database/list-within';
import { columnsOf } from '@parley/postgres/database/table';
import type { SharedDb } from '@parley/postgres/database/types';
import { type MembershipRole, type Tenant, tenants } from './tenant.ts';

export type NewTenant = Pick<Tenant, 'name' | 'plan' | 'region' | 'llmProviderOverride' | 'llmModelOverride'>;

/** The company that the tenant belongs to, if any. */
export interface OfCompany {
  idpOneCompany?: string;
}

export interface TenantChanges
  extends Partial<
    NewTenant & Pick<Tenant, 'primaryBillingAccount' | 'ownKnowledgeBases' | 'ownChunks' | 'ownStorageMb'>
  > {
  suspendedByTenant?: boolean;
  suspendedByOperator?: boolean;
  idpOneBillingConfirmed?: boolean;
  monthlyLlmCapUsd?: number | null;
}

const columns = columnsOf(tenants);

export function tenantStore(db: SharedDb) {
  const { knex } = db;
  const now = knex.raw('parley_now()');
  const allColumns = knex.raw(columns);
  const liveOfMember = (userId: number) =>
    knex('tenants').join('memberships', 'memberships.tenantId', 'tenants.id').where({ userId }).whereNull('deletedAt');

  async function lock(id: number): Promise<Tenant | undefined> {
    return knex('tenants').where({ id }).whereNull('deletedAt').forNoKeyUpdate().first(allColumns);
  }

  return {
    async insert(tenant: NewTenant & OfCompany, ownerId: number): Promise<Tenant> {
      const [created] = await knex('tenants')
        .insert({ ...tenant, createdBy: ownerId })
        .returning(allColumns);
      await knex('memberships').insert({ userId: ownerId, tenantId: created.id, role: 'OWNER' });
      return created;
    },

    async find(id: number): Promise<Tenant | undefined> {
      return knex('tenants').where({ id }).first(allColumns);
    },

    async findLiveForMember(id: number, userId: number): Promise<Tenant | undefined> {
      return liveOfMember(userId).where({ id }).first(allColumns);
    },

    listLiveForMember: (userId: number) =>
      listWithin<Tenant>(
        db,
        liveOfMember(userId)
          .select(knex.raw(columnsWithin(db, tenants)))
          .orderBy('id'),
      ),

    /** Locks a live tenant until the transaction ends. */
    lock,

    async lockForMember(id: number, userId: number): Promise<{ tenant: Tenant; role: MembershipRole } | undefined> {
      const tenant = await lock(id);
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

    /** Makes a member the owner, and the previous owner a member. The caller has locked the tenant. */
    async setOwner(id: number, userId: number): Promise<void> {
      await knex('memberships').where({ tenantId: id, role: 'OWNER' }).update({ role: 'MEMBER' });
      await knex('memberships').where({ tenantId: id, userId }).update({ role: 'OWNER' });
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
