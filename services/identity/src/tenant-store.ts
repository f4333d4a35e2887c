import type { SharedDb } from '@parley/chassis/database/types';
import type { BillingAccount, LlmProvider, MembershipRole, Tenant, TenantPlan } from './tenant.ts';

export interface NewTenant {
  name: string;
  plan: TenantPlan;
  region: string | null;
  llmProviderOverride: LlmProvider | null;
  llmModelOverride: string | null;
}

/** What an update sets; left out stays. */
export interface TenantChanges extends Partial<NewTenant> {
  /** The tenant's own switch. */
  suspendedByTenant?: boolean;
}

interface TenantRow {
  id: number;
  name: string;
  plan: TenantPlan;
  region: string | null;
  suspended_by_tenant: boolean;
  suspended_by_operator: boolean;
  llm_provider_override: LlmProvider | null;
  llm_model_override: string | null;
  primary_billing_account: BillingAccount;
  created_at: Date;
  updated_at: Date;
  deleted_at: Date | null;
}

export function tenantStore({ knex }: SharedDb) {
  const tenants = () => knex<TenantRow>('tenants');
  const now = knex.raw('parley_now()');

  return {
    /** Makes a tenant and its owner. */
    async insert(tenant: NewTenant, ownerId: number): Promise<Tenant> {
      const [row] = await knex('tenants')
        .insert({
          name: tenant.name,
          plan: tenant.plan,
          region: tenant.region,
          llm_provider_override: tenant.llmProviderOverride,
          llm_model_override: tenant.llmModelOverride,
          created_by: ownerId,
        })
        .returning('*');
      await knex('memberships').insert({ user_id: ownerId, tenant_id: row.id, role: 'OWNER' });
      return fromRow(row);
    },

    /** Deleted ones too. */
    async find(id: number): Promise<Tenant | undefined> {
      const row = await tenants().where({ id }).first();
      return row && fromRow(row);
    },

    /** A live tenant with the user's role in it, held until the transaction ends. */
    async lockForMember(id: number, userId: number): Promise<{ tenant: Tenant; role: MembershipRole } | undefined> {
      const row = await tenants().where({ id }).whereNull('deleted_at').forNoKeyUpdate().first();
      const membership = await knex('memberships').where({ tenant_id: id, user_id: userId }).first('role');
      return row && membership && { tenant: fromRow(row), role: membership.role };
    },

    async update(id: number, changes: TenantChanges): Promise<Tenant> {
      const [row] = await tenants()
        .where({ id })
        .update({
          ...(changes.name !== undefined && { name: changes.name }),
          ...(changes.plan !== undefined && { plan: changes.plan }),
          ...(changes.region !== undefined && { region: changes.region }),
          ...(changes.suspendedByTenant !== undefined && { suspended_by_tenant: changes.suspendedByTenant }),
          ...(changes.llmProviderOverride !== undefined && { llm_provider_override: changes.llmProviderOverride }),
          ...(changes.llmModelOverride !== undefined && { llm_model_override: changes.llmModelOverride }),
          updated_at: now,
        })
        .returning('*');
      if (!row) throw new Error(`tenant ${id} was locked and is gone`);
      return fromRow(row);
    },

    /** Answers when. */
    async softDelete(id: number): Promise<Date> {
      const [row] = await tenants().where({ id }).update({ deleted_at: now, updated_at: now }).returning('*');
      if (!row?.deleted_at) throw new Error(`tenant ${id} was locked and is gone`);
      return row.deleted_at;
    },

    /** How many live tenants the user owns, and how many they made in the last 30 days, deleted ones too. */
    async countOf(userId: number): Promise<{ owned: number; madeIn30Days: number }> {
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

function fromRow(row: TenantRow): Tenant {
  return {
    id: row.id,
    name: row.name,
    plan: row.plan,
    region: row.region,
    isSuspended: row.suspended_by_tenant || row.suspended_by_operator,
    suspendedByOperator: row.suspended_by_operator,
    llmProviderOverride: row.llm_provider_override,
    llmModelOverride: row.llm_model_override,
    primaryBillingAccount: row.primary_billing_account,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    deletedAt: row.deleted_at,
  };
}
