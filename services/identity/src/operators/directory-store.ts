import { notFound } from '@parley/kernel/errors';
import type { SharedDb } from '@parley/postgres/database/types';
import type { PhoneQuery } from '../phone-number.ts';
import type { Tenant, TenantPlan } from '../tenant.ts';
import type { UserStatus } from '../user.ts';

export interface ListedTenant {
  id: number;
  name: string;
  plan: TenantPlan;
  region: string | null;
  ownerId: number | null;
  ownerEmail: string | null;
  suspendedByTenant: boolean;
  suspendedByOperator: boolean;
  primaryBillingAccount: Tenant['primaryBillingAccount'];
  idpOneBillingConfirmed: boolean;
  monthlyCapUsd: string | null;
  ownKnowledgeBases: number | null;
  ownChunks: number | null;
  ownStorageMb: number | null;
  createdAt: Date;
  deletedAt: Date | null;
}

export interface ListedUser {
  id: number;
  email: string | null;
  phone: string | null;
  fullname: string;
  status: UserStatus;
  twoFactor: boolean;
  /** Those that are not revoked and may still be refreshed. */
  signIns: number;
  ownerOf: number[];
  memberOf: number[];
  createdAt: Date;
}

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

/** Tenants with their owners, users with their tenants, as operators look for them. */
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
    return tenants.select<ListedTenant[]>(
      't.id',
      't.name',
      't.plan',
      't.region',
      'u.id as ownerId',
      'u.email as ownerEmail',
      't.suspendedByTenant',
      't.suspendedByOperator',
      't.primaryBillingAccount',
      't.idpOneBillingConfirmed',
      knex.raw('cast(t.monthly_llm_cap_usd AS text) AS monthly_cap_usd'),
      't.ownKnowledgeBases',
      't.ownChunks',
      't.ownStorageMb',
      't.createdAt',
      't.deletedAt',
    );
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
    return users.select<ListedUser[]>(
      'u.id',
      'u.email',
      'u.phoneE164 as phone',
      'u.fullname',
      'u.status',
      knex.raw('u.two_factor_secret_sealed IS NOT NULL AS two_factor'),
      knex.raw(`${liveSignIns} AS sign_ins`),
      knex.raw(`${tenantsAs('OWNER')} AS owner_of`),
      knex.raw(`${tenantsAs('MEMBER')} AS member_of`),
      'u.createdAt',
    );
  }

  return {
    listTenants,
    listUsers,

    /** @throws DomainError `notFound` */
    async getTenant(id: number): Promise<ListedTenant> {
      const [tenant] = await listTenants({ id, after: 0, limit: 1, name: '', ownerEmail: '' });
      if (!tenant) throw notFound('Tenant', id);
      return tenant;
    },

    /** @throws DomainError `notFound` */
    async getUser(id: number): Promise<ListedUser> {
      const [user] = await listUsers({ id, after: 0, limit: 1, email: '', phone: null });
      if (!user) throw notFound('User', id);
      return user;
    },
  };
}
