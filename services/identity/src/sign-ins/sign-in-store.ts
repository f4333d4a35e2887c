import { plainAddress } from '@parley/kernel/http/client-network';
import type { SharedDb } from '@parley/postgres/database/types';
import type { SignInLimit } from './sign-in-limit.ts';

export interface NewSignIn {
  id: string;
  userId: number;
  /** `last`: the user's last used tenant, if it is live and the user is a member. */
  tenantId: number | 'last' | null;
  limitedReason: SignInLimit | null;
  ip: string | null;
  fcmTokenSealed: Buffer | null;
  refreshToken: { sha256: Buffer; ttlS: number };
}

export interface SignInState {
  userId: number;
  displayName: string;
  /** The current tenant; null once the tenant is deleted or the user is no longer a member. */
  tenantId: number | null;
  tenantSuspended: boolean;
  limitedReason: SignInLimit | null;
  userSuspended: boolean;
}

export interface ListedSignIn extends SignInState {
  signInId: string;
}

export interface LiveSignIn {
  tenantId: number | null;
  limitedReason: SignInLimit | null;
  /** Seconds since the credential was checked; refreshing tokens does not reset it. */
  ageS: number;
}

export function signInStore({ knex }: SharedDb) {
  const live = () => knex('sign_ins').whereNull('revokedAt');
  const now = knex.raw('parley_now()');

  return {
    /** Inserts the sign-in and its first refresh token in one statement, because sign-ins come in bursts. */
    async insert({ tenantId, ip, refreshToken, ...signIn }: NewSignIn): Promise<void> {
      const tenant =
        tenantId === 'last'
          ? `(SELECT t.id FROM users u
                JOIN memberships m ON m.user_id = u.id AND m.tenant_id = u.last_tenant_id
                JOIN tenants t ON t.id = m.tenant_id AND t.deleted_at IS NULL
               WHERE u.id = :userId)`
          : ':tenantId';
      await knex.raw(
        `WITH sign_in AS (
           INSERT INTO sign_ins (id, user_id, tenant_id, limited_reason, ip, fcm_token_sealed)
           VALUES (:id, :userId, ${tenant}, :limitedReason, :ip, :fcmTokenSealed) RETURNING id)
         INSERT INTO refresh_tokens (token_sha256, sign_in_id, expires_at)
         SELECT :sha256::bytea, id, parley_now() + :ttlS * interval '1 second' FROM sign_in`,
        { ...signIn, ...refreshToken, tenantId, ip: plainAddress(ip ?? '') ?? null },
      );
    },

    /** Lists sign-ins by id. Reads by primary keys only, because gateways request every active sign-in once a second. */
    async list(ids: string[]): Promise<ListedSignIn[]> {
      const { rows } = await knex.raw(
        `SELECT s.id AS sign_in_id, s.user_id, coalesce(u.username, u.fullname) AS display_name, t.id AS tenant_id,
                coalesce(t.suspended_by_tenant OR t.suspended_by_operator, false) AS tenant_suspended,
                s.limited_reason, u.status = 'SUSPENDED' AS user_suspended
           FROM sign_ins s
           JOIN users u ON u.id = s.user_id AND u.deleted_at IS NULL
           LEFT JOIN memberships m ON m.user_id = s.user_id AND m.tenant_id = s.tenant_id
           LEFT JOIN tenants t ON t.id = m.tenant_id AND t.deleted_at IS NULL
          WHERE s.id = ANY (?::uuid[]) AND s.revoked_at IS NULL`,
        [ids],
      );
      return rows;
    },

    /** Reports whether the user has ever signed in from this IPv4 address or IPv6 /64. */
    async hasSignedInFrom(userId: number, ip: string): Promise<boolean> {
      const address = plainAddress(ip);
      if (address === undefined) return false;
      const network = (address: string) =>
        `network(set_masklen(${address}::inet, CASE family(${address}::inet) WHEN 6 THEN 64 ELSE 32 END))`;
      const { rows } = await knex.raw(
        `SELECT EXISTS (SELECT FROM sign_ins s
           WHERE s.user_id = :userId AND s.ip IS NOT NULL AND ${network('s.ip')} = ${network(':address')}) AS found`,
        { userId, address },
      );
      return rows[0].found;
    },

    async findLive(id: string, userId: number): Promise<LiveSignIn | undefined> {
      return live()
        .where({ id, userId })
        .first({
          tenantId: 'tenantId',
          limitedReason: 'limitedReason',
          ageS: knex.raw('extract(epoch FROM parley_now() - created_at)::float'),
        });
    },

    async setTenant(id: string, tenantId: number): Promise<void> {
      await live().where({ id }).update({ tenantId });
    },

    /** Limits all other sign-ins of the user. Sign-ins that are already limited keep their reason. */
    async limitOthers(userId: number, exceptId: string, reason: SignInLimit): Promise<void> {
      await live().where({ userId, limitedReason: null }).whereNot({ id: exceptId }).update({ limitedReason: reason });
    },

    async endLimit(whose: { id: string } | { userId: number }, reason: SignInLimit): Promise<void> {
      await live()
        .where({ ...whose, limitedReason: reason })
        .update({ limitedReason: null });
    },

    async leaveTenant(tenantId: number): Promise<void> {
      await knex('sign_ins').where({ tenantId }).update({ tenantId: null });
    },

    async revoke(whose: { id: string } | { userId: number }): Promise<void> {
      await live().where(whose).update({ revokedAt: now });
    },

    async revokeOthers(userId: number, exceptId: string): Promise<void> {
      await live().where({ userId }).whereNot({ id: exceptId }).update({ revokedAt: now });
    },
  };
}
