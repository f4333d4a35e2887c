import { plainAddress } from '@parley/kernel/client-network';
import type { SharedDb } from '@parley/postgres/database/types';

export interface NewSignIn {
  id: string;
  userId: number;
  /** `last`: the tenant that the user chose last, while it lives and the user is in it. */
  tenantId: number | 'last' | null;
  limitedReason: string | null;
  ip: string | null;
  fcmTokenSealed: Buffer | null;
  /** Its first refresh token. */
  refreshToken: { sha256: Buffer; ttlS: number };
}

/** Who signed in, and what they may do now. */
export interface SignInState {
  userId: number;
  /** The username, else the full name. */
  displayName: string;
  /** The tenant in use; null once it has been deleted or left. */
  tenantId: number | null;
  tenantSuspended: boolean;
  limitedReason: string | null;
  userSuspended: boolean;
}

/** What a transaction that has locked the user finds of a sign-in that has not been revoked. */
export interface LiveSignIn {
  /** The tenant in use, deleted ones too. */
  tenantId: number | null;
  /** Seconds since its credential was shown; exchanging refresh tokens changes nothing about it. */
  ageS: number;
}

export interface ListedSignIn extends SignInState {
  signInId: string;
}

export function signInStore({ knex }: SharedDb) {
  const live = () => knex('sign_ins').whereNull('revokedAt');
  const now = knex.raw('parley_now()');

  return {
    /** With its first refresh token, in one statement: sign-ins come in floods, and others wait for the same database. */
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

    /** Those that live. One statement over primary keys: gateways ask this about every sign-in in use once a second. */
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

    /** Whether the user has ever signed in from this address, or for IPv6 from its network. Older rows may hold a zone. */
    async hasBegunFrom(userId: number, ip: string): Promise<boolean> {
      const address = plainAddress(ip);
      if (address === undefined) return false;
      const network = (address: string) =>
        `network(set_masklen(${address}::inet, CASE family(${address}::inet) WHEN 6 THEN 64 ELSE 32 END))`;
      const { rows } = await knex.raw(
        `SELECT EXISTS (SELECT FROM sign_ins s
           WHERE s.user_id = :userId AND s.ip IS NOT NULL AND ${network("split_part(s.ip, '%', 1)")} = ${network(':address')}) AS found`,
        { userId, address },
      );
      return rows[0].found;
    },

    /** Undefined when this sign-in of this user has been revoked. */
    async findLive(id: string, userId: number): Promise<LiveSignIn | undefined> {
      return live()
        .where({ id, userId })
        .first({
          tenantId: 'tenantId',
          ageS: knex.raw('extract(epoch FROM parley_now() - created_at)::float'),
        });
    },

    async setTenant(id: string, tenantId: number): Promise<void> {
      await live().where({ id }).update({ tenantId });
    },

    /** Leaves everybody who is in this tenant without one. */
    async leaveTenant(tenantId: number): Promise<void> {
      await knex('sign_ins').where({ tenantId }).update({ tenantId: null });
    },

    async revoke(id: string): Promise<void> {
      await live().where({ id }).update({ revokedAt: now });
    },

    async revokeOthers(userId: number, keptId: string): Promise<void> {
      await live().where({ userId }).whereNot({ id: keptId }).update({ revokedAt: now });
    },
  };
}
