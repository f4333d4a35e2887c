import type { SharedDb } from '@parley/postgres/database/types';
import type { Channel } from '../accounts/contact.ts';
import type { TokenPurpose } from '../generated/schema.ts';
import type { SecuredTokenType } from './secured-token.ts';

export interface TokenSeries {
  type: SecuredTokenType;
  purpose: TokenPurpose;
  contactIndex: Buffer;
}

export interface NewSecuredToken extends TokenSeries {
  id: number;
  channel: Channel;
  userId: number | null;
  secretHash: Buffer;
  /** Number of wrong attempts that lock the token. With 0 the token is never live. */
  guesses: number;
  validForS: number;
}

export interface TokenSelector {
  type: SecuredTokenType;
  id: number | undefined;
  contactIndexes: Buffer[] | undefined;
  purposes: TokenPurpose[] | undefined;
  secretHash: Buffer | undefined;
}

export interface AttemptedToken {
  isRight: boolean;
  channel: Channel;
  userId: number | null;
}

const live = 'ended_at IS NULL AND expires_at > parley_now() AND wrong_attempts < guesses';
const ofSeries = 'contact_index = :contactIndex AND type = :type AND purpose = :purpose';

export function securedTokenStore({ knex }: SharedDb) {
  return {
    /** Locks the tokens of one type, purpose and contact until the transaction ends. */
    async lockSeries({ type, purpose, contactIndex }: TokenSeries): Promise<void> {
      await knex.raw('SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ?, 0))', [
        ` ${type} ${purpose} ${contactIndex.toString('base64')}`,
      ]);
    },

    async countDay(series: TokenSeries): Promise<{ issued: number; wrong: number }> {
      const { rows } = await knex.raw(
        `SELECT count(*)::integer AS issued, coalesce(sum(wrong_attempts), 0)::integer AS wrong FROM secured_tokens
          WHERE ${ofSeries} AND guesses > 0 AND created_at > parley_now() - interval '1 day'`,
        { ...series },
      );
      return rows[0];
    },

    async end(which: TokenSeries | { userId: number; purpose?: TokenPurpose }): Promise<void> {
      await knex('secured_tokens')
        .where(which)
        .whereNull('endedAt')
        .update({ endedAt: knex.raw('parley_now()') });
    },

    async insert({ validForS, ...token }: NewSecuredToken): Promise<boolean> {
      const inserted = await knex('secured_tokens')
        .insert({
          ...token,
          expiresAt: knex.raw(`parley_now() + ? * interval '1 second'`, [validForS]),
          endedAt: token.guesses > 0 ? null : knex.raw('parley_now()'),
        })
        .onConflict('id')
        .ignore()
        .returning('id');
      return inserted.length > 0;
    },

    /**
     * Deletes a few tokens older than a day; no limit counts them any more. Each new token deletes several old ones, so that the table
     * shrinks.
     */
    async clearOld(): Promise<void> {
      await knex.raw(
        `DELETE FROM secured_tokens WHERE id IN (
           SELECT id FROM secured_tokens WHERE created_at <= parley_now() - interval '1 day'
            ORDER BY created_at LIMIT 10 FOR UPDATE SKIP LOCKED)`,
      );
    },

    async find({
      type,
      id,
      contactIndexes,
      purposes,
      secretHash,
    }: TokenSelector): Promise<{ id: number; userId: number | null } | undefined> {
      return knex('secured_tokens')
        .where({ type, ...(id !== undefined && { id }), ...(secretHash && { secretHash }) })
        .where((query) => {
          if (contactIndexes) query.whereIn('contactIndex', contactIndexes);
          if (purposes) query.whereIn('purpose', purposes);
        })
        .whereRaw(live)
        .orderBy([{ column: 'createdAt', order: 'desc' }, 'id'])
        .first('id', 'userId');
    },

    /**
     * Counts the attempt if the secret is wrong, or ends the token if the secret is right. Both are atomic, so that concurrent attempts are
     * counted one by one. Returns undefined if the token is not live; nothing changes then, but the commit takes the same time.
     */
    async attempt(
      id: number,
      secretHash: Buffer,
      { spends }: { spends: boolean },
    ): Promise<AttemptedToken | undefined> {
      const { rows } = await knex.raw(
        `UPDATE secured_tokens
            SET wrong_attempts = wrong_attempts + (secret_hash <> :secretHash)::integer,
                ended_at = CASE WHEN :spends AND secret_hash = :secretHash THEN parley_now() END
          WHERE id = :id AND ${live}
         RETURNING secret_hash = :secretHash AS is_right, channel, user_id`,
        { id, secretHash, spends },
      );
      if (rows.length === 0) await knex.raw(`SELECT pg_logical_emit_message(true, 'identity', '')`);
      return rows[0];
    },
  };
}
