import { notFound } from '@parley/kernel/errors';
import { column, columnsOf, type RowOf, table } from '@parley/postgres/database/table';
import type { SharedDb } from '@parley/postgres/database/types';
import type { PhoneQuery } from '../accounts/phone-number.ts';
import type { UserStatus } from '../accounts/user.ts';
import type { Tenant, TenantPlan } from '../tenants/tenant.ts';

/** The columns of a tenant (`t` in SQL) with its owner (`u`). */
const listedTenants = table('tenants', {
  id: column<number>(),
  name: column<string>(),
  plan: column<TenantPlan>(),
  region: column<string | null>(),
  ownerId: column<number | null>({ sql: () => 'u.id' }),
  ownerEmail: column<string | null>({ sql: () => 'u.email' }),
  suspendedByTenant: column<boolean>(),
  suspendedByOperator: column<boolean>(),
  primaryBillingAccount: column<Tenant['primaryBillingAccount']>(),
  idpOneBillingConfirmed: column<boolean>(),
  monthlyCapUsd: column<string | null>({ sql: () => 'cast(t.monthly_llm_cap_usd AS text)' }),
  ownKnowledgeBases: column<number | null>(),
  ownChunks: column<number | null>(),
  ownStorageMb: column<number | null>(),
  createdAt: column<Date>(),
  deletedAt: column<Date | null>(),
});

export type ListedTenant = RowOf<typeof listedTenants>;

interface Listing {
  id?: number | undefined;
  after: number;
  limit: number;
}

export interface TenantListing extends Listing {
  name: string;
  ownerEmail: string;
}

export interface UserListing extends Listing {
  email: string;
  phone: PhoneQuery | null;
  tenant?: number | undefined;
}

const tenantsAs = (role: string) => `ARRAY (
  SELECT m.tenant_id FROM memberships m JOIN tenants t ON t.id = m.tenant_id AND t.deleted_at IS NULL
   WHERE m.user_id = u.id AND m.role = '${role}' ORDER BY m.tenant_id)`;

const liveSignIns = `(
  SELECT count(*)::int FROM sign_ins s
   WHERE s.user_id = u.id AND s.revoked_at IS NULL
     AND EXISTS (SELECT FROM refresh_tokens r WHERE r.sign_in_id = s.id AND r.expires_at > parley_now()))`;

/** The columns of a user (`u` in SQL) with its tenants. */
const listedUsers = table('users', {
  id: column<number>(),
  email: column<string | null>(),
  phone: column<string | null>({ sql: () => 'u.phone_e164' }),
  fullname: column<string>(),
  status: column<UserStatus>(),
  twoFactor: column<boolean>({ sql: () => 'u.two_factor_secret_sealed IS NOT NULL' }),
  /** Number of sign-ins that are neither revoked nor expired. */
  signIns: column<number>({ sql: () => liveSignIns }),
  ownerOf: column<number[]>({ sql: () => tenantsAs('OWNER') }),
  memberOf: column<number[]>({ sql: () => tenantsAs('MEMBER') }),
  createdAt: column<Date>(),
});

export type ListedUser = RowOf<typeof listedUsers>;

/** Lists tenants with their owners, and users with their tenants, for operators. */
export function directoryStore({ knex }: SharedDb) {
  async function listTenants({ id, after, limit, name, ownerEmail }: TenantListing): Promise<ListedTenant[]> {
    const tenants = knex('tenants as t')
      .leftJoin('memberships as m', (on) => on.on('m.tenantId', 't.id').andOnVal('m.role', 'OWNER'))
      .leftJoin('users as u', 'u.id', 'm.userId')
      .where('t.id', '>', after)
      .orderBy('t.id')
      .limit(limit);
    if (id !== undefined) void tenants.where('t.id', id);
    if (name !== '') void tenants.whereRaw('strpos(lower(t.name), lower(?)) > 0', [name]);
    if (ownerEmail !== '') void tenants.where('u.email', ownerEmail);
    return tenants.select<ListedTenant[]>(knex.raw(columnsOf(listedTenants, 't')));
  }

  async function listUsers({ id, after, limit, email, phone, tenant }: UserListing): Promise<ListedUser[]> {
    const users = knex('users as u').whereNull('u.deletedAt').where('u.id', '>', after).orderBy('u.id').limit(limit);
    if (id !== undefined) void users.where('u.id', id);
    if (email !== '') void users.where('u.email', email);
    if (phone && 'e164' in phone) void users.where('u.phoneE164', phone.e164);
    else if (phone)
      void users.where((either) =>
        either.where({ phoneNumber: phone.digits }).orWhere({ phoneNational: phone.national }),
      );
    if (tenant !== undefined)
      void users.whereIn('u.id', knex('memberships').where({ tenantId: tenant }).select('userId'));
    return users.select<ListedUser[]>(knex.raw(columnsOf(listedUsers, 'u')));
  }

  return {
    listTenants,
    listUsers,

    /** @throws DomainError `notFound` if there is no such tenant */
    async getTenant(id: number): Promise<ListedTenant> {
      const [tenant] = await listTenants({ id, after: 0, limit: 1, name: '', ownerEmail: '' });
      if (!tenant) throw notFound('Tenant', id);
      return tenant;
    },

    /** @throws DomainError `notFound` if there is no such user */
    async getUser(id: number): Promise<ListedUser> {
      const [user] = await listUsers({ id, after: 0, limit: 1, email: '', phone: null });
      if (!user) throw notFound('User', id);
      return user;
    },
  };
}
