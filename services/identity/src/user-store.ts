import type { SharedDb } from '@parley/chassis/database/types';
import type { Phone, PhoneQuery } from './phone-number.ts';
import type { User, UserStatus } from './user.ts';

/** What a password is checked against, and where the sign-in that follows begins. */
export interface Account {
  userId: number;
  passwordHash: string | null;
  status: UserStatus;
  hasTwoFactor: boolean;
}

/** A user as the database has them: the number of the identity document is still sealed. */
export interface StoredUser extends Omit<User, 'idNo'> {
  idNoSealed: Buffer | null;
}

export interface NewUser {
  email: string;
  fullname: string;
  passwordHash: string;
  phone: Phone;
  idType: string | null;
  idNoSealed: Buffer | null;
  /** HMAC of the number, and of type and number. */
  idNoIndex: Buffer | null;
  idDocumentIndex: Buffer | null;
  referralCode: string;
  referrerId: number | null;
}

interface UserRow {
  id: number;
  email: string | null;
  fullname: string;
  username: string | null;
  password_hash: string | null;
  phone_code: string | null;
  phone_number: string | null;
  phone_e164: string | null;
  phone_national: string | null;
  id_type: string | null;
  id_no_sealed: Buffer | null;
  id_no_index: Buffer | null;
  referral_code: string;
  status: UserStatus;
  two_factor_secret_sealed: Buffer | null;
  last_tenant_id: number | null;
  created_at: Date;
  updated_at: Date;
}

export function userStore({ knex }: SharedDb) {
  const live = () => knex<UserRow>('users').whereNull('deleted_at');
  const now = knex.raw('parley_now()');

  return {
    async insert(user: NewUser): Promise<number> {
      const [row] = await knex('users')
        .insert({
          email: user.email,
          fullname: user.fullname,
          password_hash: user.passwordHash,
          phone_code: user.phone.code,
          phone_number: user.phone.number,
          phone_e164: user.phone.e164,
          phone_national: user.phone.national,
          id_type: user.idType,
          id_no_sealed: user.idNoSealed,
          id_no_index: user.idNoIndex,
          id_document_index: user.idDocumentIndex,
          referral_code: user.referralCode,
          referrer_id: user.referrerId,
        })
        .returning('id');
      return row.id;
    },

    async find(id: number): Promise<StoredUser | undefined> {
      const row = await live().where({ id }).first();
      return row && fromRow(row);
    },

    /** Locks the user's row until the transaction ends. Undefined when the user is gone. */
    async lock(id: number): Promise<UserStatus | undefined> {
      return (await live().where({ id }).forNoKeyUpdate().first('status'))?.status;
    },

    async findByReferralCode(code: string): Promise<number | undefined> {
      return (await live().where({ referral_code: code }).first('id'))?.id;
    },

    async emailTaken(email: string): Promise<boolean> {
      return (await live().where({ email }).first('id')) !== undefined;
    },

    async idNoTaken(idNoIndex: Buffer): Promise<boolean> {
      return (await live().where({ id_no_index: idNoIndex }).first('id')) !== undefined;
    },

    async findAccountByEmail(email: string): Promise<Account | undefined> {
      const row = await live().where({ email }).first();
      return row && accountOf(row);
    },

    /** A national number counts only where exactly one live user has it. */
    async findAccountByPhone(query: PhoneQuery): Promise<Account | undefined> {
      const rows =
        'e164' in query
          ? await live().where({ phone_e164: query.e164 })
          : await live()
              .where((either) =>
                either.where({ phone_number: query.digits }).orWhere({ phone_national: query.national }),
              )
              .limit(2);
      return rows.length === 1 && rows[0] ? accountOf(rows[0]) : undefined;
    },

    async setLastTenant(id: number, tenantId: number): Promise<void> {
      await live().where({ id }).update({ last_tenant_id: tenantId });
    },

    async setPasswordHash(id: number, passwordHash: string): Promise<void> {
      await live().where({ id }).update({ password_hash: passwordHash, updated_at: now });
    },

    /** Whether the account still is as it was when its password was checked. Holds the row against a change meanwhile. */
    async stillHas(id: number, passwordHash: string): Promise<boolean> {
      const row = await live().where({ id, password_hash: passwordHash, status: 'ACTIVE' }).forShare().first('id');
      return row !== undefined;
    },
  };
}

function fromRow(row: UserRow): StoredUser {
  return {
    id: row.id,
    email: row.email,
    fullname: row.fullname,
    username: row.username,
    phoneCode: row.phone_code,
    phoneNumber: row.phone_number,
    idType: row.id_type,
    idNoSealed: row.id_no_sealed,
    referralCode: row.referral_code,
    status: row.status,
    twoFactorEnabled: row.two_factor_secret_sealed !== null,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function accountOf(row: UserRow): Account {
  return {
    userId: row.id,
    passwordHash: row.password_hash,
    status: row.status,
    hasTwoFactor: row.two_factor_secret_sealed !== null,
  };
}
