import type { SharedDb } from '@parley/postgres/database/types';
import type { UserStatus } from '../accounts/user.ts';

export interface StoredRefreshToken {
  signInId: string;
  userId: number;
  userStatus: UserStatus;
  revoked: boolean;
  expired: boolean;
  rotatedForS: number | null;
  /** Whether the successor has been exchanged as well. This field and `successorEndsInS` are null if there is no successor. */
  successorRotated: boolean | null;
  successorEndsInS: number | null;
}

export interface Successor {
  sha256: Buffer;
  signInId: string;
  parentSha256: Buffer;
  ttlS: number;
}

export function refreshTokenStore({ knex }: SharedDb) {
  return {
    /**
     * Replaces a token by its successor. Also deletes the sign-in's expired tokens, because a deleted token is refused
     * like an expired one.
     */
    async rotate({ sha256, signInId, parentSha256, ttlS }: Successor): Promise<void> {
      await knex('refresh_tokens').where({ signInId }).whereRaw('expires_at <= parley_now()').delete();
      await knex('refresh_tokens')
        .where({ tokenSha256: parentSha256 })
        .update({ rotatedAt: knex.raw('parley_now()') });
      await knex('refresh_tokens').insert({
        tokenSha256: sha256,
        signInId,
        parentSha256,
        expiresAt: knex.raw(`parley_now() + ? * interval '1 second'`, [ttlS]),
      });
    },

    async findUser(sha256: Buffer): Promise<number | undefined> {
      const row = await knex('refresh_tokens as r')
        .join('sign_ins as s', 's.id', 'r.signInId')
        .where({ 'r.tokenSha256': sha256 })
        .first('s.userId');
      return row?.userId;
    },

    /**
     * Locks token and user: only one of several concurrent exchanges rotates the token, and no exchange runs during a
     * revocation of the sign-in.
     */
    async lock(sha256: Buffer): Promise<StoredRefreshToken | undefined> {
      const { rows: locked } = await knex.raw(
        `SELECT FROM refresh_tokens r
           JOIN sign_ins s ON s.id = r.sign_in_id
           JOIN users u ON u.id = s.user_id
          WHERE r.token_sha256 = ? FOR NO KEY UPDATE OF u FOR UPDATE OF r`,
        [sha256],
      );
      if (locked.length === 0) return undefined;
      const { rows } = await knex.raw(
        `SELECT s.id AS sign_in_id, s.user_id, u.status AS user_status,
                s.revoked_at IS NOT NULL OR u.deleted_at IS NOT NULL AS revoked,
                r.expires_at <= parley_now() AS expired,
                extract(epoch FROM parley_now() - r.rotated_at)::float AS rotated_for_s,
                next.rotated_at IS NOT NULL AND next.token_sha256 IS NOT NULL AS successor_rotated,
                extract(epoch FROM next.expires_at - parley_now())::float AS successor_ends_in_s
           FROM refresh_tokens r
           JOIN sign_ins s ON s.id = r.sign_in_id
           JOIN users u ON u.id = s.user_id
           LEFT JOIN refresh_tokens next ON next.parent_sha256 = r.token_sha256
          WHERE r.token_sha256 = ?`,
        [sha256],
      );
      return rows[0];
    },
  };
}
