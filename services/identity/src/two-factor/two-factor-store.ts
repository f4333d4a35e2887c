import type { SharedDb } from '@parley/postgres/database/types';

const offersAtOnce = 5;
const wrongCodesUntilLock = 5;

/** Reads and writes the second factor of users. Each transaction must first lock the user's row. */
export function twoFactorStore({ knex }: SharedDb) {
  const user = (userId: number) => knex('users').where({ id: userId });
  const offers = (userId: number) => knex('two_factor_offers').where({ userId });
  const now = knex.raw('parley_now()');
  const isOpen = `offered_at > parley_now() - interval '10 minutes'`;

  return {
    async findSecret(userId: number): Promise<Buffer | null> {
      return (await user(userId).first('twoFactorSecretSealed'))?.twoFactorSecretSealed ?? null;
    },

    /**
     * Stores an offer. Keeps only the user's newest offers, so that the table is bounded, and removes expired offers of all users.
     */
    async offer(userId: number, secretSealed: Buffer): Promise<void> {
      const newest = offers(userId)
        .orderBy('id', 'desc')
        .limit(offersAtOnce - 1);
      await offers(userId).whereNotIn('id', newest.select('id')).delete();
      const expired = knex('two_factor_offers').whereRaw(`NOT (${isOpen})`).limit(100).forUpdate().skipLocked();
      await knex('two_factor_offers').whereIn('id', expired.select('id')).delete();
      await knex('two_factor_offers').insert({ userId, secretSealed });
    },

    listOffers: (userId: number): Promise<Buffer[]> => offers(userId).whereRaw(isOpen).pluck('secretSealed'),

    async bind(userId: number, secretSealed: Buffer): Promise<void> {
      await user(userId).update({ twoFactorSecretSealed: secretSealed, updatedAt: now });
      await offers(userId).delete();
    },

    async unbind(userId: number): Promise<void> {
      const noCodes = { twoFactorWrongCodes: 0, twoFactorLockedUntil: null };
      await user(userId).update({ twoFactorSecretSealed: null, ...noCodes, updatedAt: now });
    },

    async findCodeState(userId: number): Promise<{ isLocked: boolean; lastStep: number | null }> {
      return user(userId).first({
        isLocked: knex.raw('coalesce(two_factor_locked_until > parley_now(), false)'),
        lastStep: knex.raw('CASE WHEN two_factor_secret_sealed IS NOT NULL THEN two_factor_last_step END'),
      });
    },

    async acceptCode(userId: number, step: number): Promise<void> {
      await user(userId).update({ twoFactorLastStep: step, twoFactorWrongCodes: 0 });
    },

    async countWrongCode(userId: number): Promise<void> {
      await knex.raw(
        `UPDATE users SET two_factor_wrong_codes = (two_factor_wrong_codes + 1) % :maxCodes,
             two_factor_locked_until = CASE WHEN two_factor_wrong_codes + 1 >= :maxCodes
               THEN parley_now() + interval '15 minutes' ELSE two_factor_locked_until END
          WHERE id = :userId`,
        { userId, maxCodes: wrongCodesUntilLock },
      );
    },
  };
}
