import { columnsOf } from '@parley/postgres/database/table';
import type { SharedDb } from '@parley/postgres/database/types';
import type { LimitingState } from '../sign-ins/sign-in-limit.ts';
import type { Phone, PhoneQuery } from './phone-number.ts';
import { type StoredUser, type UserStatus, users } from './user.ts';

export interface Account {
  userId: number;
  passwordHash: string | null;
  status: UserStatus;
  phoneE164: string | null;
}

export interface NewUser {
  email: string | null;
  fullname: string;
  passwordHash?: string;
  phone?: Phone;
  idpOneSubject?: string;
  idType?: string | null;
  idNoSealed?: Buffer | null;
  idNoIndex?: Buffer | null;
  idDocumentIndex?: Buffer | null;
  referralCode: string;
  referrerId?: number | null;
}

export type UserChanges = Partial<Record<'passwordHash' | 'idpOneSubject', string | null> & { status: UserStatus }>;

const columns = columnsOf(users);

export function userStore({ knex }: SharedDb) {
  const live = () => knex('users').whereNull('deletedAt');
  const accounts = () => live().select<Account[]>('id as userId', 'passwordHash', 'status', 'phoneE164');
  const now = knex.raw('parley_now()');

  return {
    async insert({ phone, ...user }: NewUser): Promise<number> {
      const [row] = await knex('users')
        .insert({
          ...user,
          phoneCode: phone?.code,
          phoneNumber: phone?.number,
          phoneE164: phone?.e164,
          phoneNational: phone?.national,
        })
        .returning('id');
      return row.id;
    },

    async find(id: number): Promise<StoredUser | undefined> {
      return live().where({ id }).first(knex.raw(columns));
    },

    async lock(id: number): Promise<UserStatus | undefined> {
      return (await live().where({ id }).forNoKeyUpdate().first('status'))?.status;
    },

    async findByReferralCode(code: string): Promise<number | undefined> {
      return (await live().where({ referralCode: code }).first('id'))?.id;
    },

    async isTaken(what: { email: string } | { idNoIndex: Buffer }): Promise<boolean> {
      return (await live().where(what).first('id')) !== undefined;
    },

    async findAccountByEmail(email: string): Promise<Account | undefined> {
      return accounts().where({ email }).first();
    },

    /** Finds a user by a national number only if no other live user has it. */
    async findAccountByPhone(query: PhoneQuery): Promise<Account | undefined> {
      const rows =
        'e164' in query
          ? await accounts().where({ phoneE164: query.e164 })
          : await accounts()
              .where((either) => either.where({ phoneNumber: query.digits }).orWhere({ phoneNational: query.national }))
              .limit(2);
      return rows.length === 1 ? rows[0] : undefined;
    },

    async setLastTenant(id: number, tenantId: number): Promise<void> {
      await live().where({ id }).update({ lastTenantId: tenantId });
    },

    async update(id: number, changes: UserChanges): Promise<void> {
      await live()
        .where({ id })
        .update({ ...changes, updatedAt: now });
    },

    /**
     * Counts a notice that is sent to the user.
     * @returns the user's email; undefined if the email is unverified and `maxToUnproved` notices were already sent this UTC day
     */
    async countNotice(id: number, maxToUnproved: number): Promise<string | null | undefined> {
      const { rows } = await knex.raw(
        `UPDATE users
            SET notices_count = CASE WHEN notices_day = today THEN notices_count + 1 ELSE 1 END, notices_day = today
           FROM (SELECT (parley_now() AT TIME ZONE 'UTC')::date AS today) AS clock
          WHERE id = :id AND deleted_at IS NULL
            AND (email_proved_at IS NOT NULL OR notices_day IS DISTINCT FROM today OR notices_count < :maxToUnproved)
         RETURNING email`,
        { id, maxToUnproved },
      );
      return rows[0]?.email;
    },

    /** Marks the email as verified: a code or link that was sent to it was used. */
    async emailProved(id: number): Promise<void> {
      await live().where({ id }).update({ emailProvedAt: now, emailProofRequired: false });
    },

    /** Locks an active user against changes. Returns undefined if the password or status changed since the password was checked. */
    async lockIfUnchanged(id: number, passwordHash: string): Promise<LimitingState | undefined> {
      return live()
        .where({ id, passwordHash, status: 'ACTIVE' })
        .forShare()
        .first({
          hasTwoFactor: knex.raw('two_factor_secret_sealed IS NOT NULL'),
          emailProofRequired: 'emailProofRequired',
        });
    },
  };
}
