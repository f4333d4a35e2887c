import { column, type RowOf, table } from '@parley/postgres/database/table';
import type { UserStatusType } from './generated/schema.ts';

export type UserStatus = UserStatusType;

/** What is read of a user but for what they sign in with. */
export const users = table('users', {
  id: column<number>(),
  email: column<string | null>(),
  fullname: column<string>(),
  username: column<string | null>(),
  /** Dial prefix and national digits, as given. */
  phoneCode: column<string | null>(),
  phoneNumber: column<string | null>(),
  idType: column<string | null>(),
  /** The number of the identity document. */
  idNoSealed: column<Buffer | null>(),
  referralCode: column<string>(),
  status: column<UserStatus>(),
  /** Whether a second factor is bound. */
  twoFactorEnabled: column<boolean>({ sql: (user) => `${user}.two_factor_secret_sealed IS NOT NULL` }),
  createdAt: column<Date>(),
  updatedAt: column<Date>(),
});

/** A user as the database has them. */
export type StoredUser = RowOf<typeof users>;

/** The signed-in person, as they see themselves. */
export interface User extends Omit<StoredUser, 'idNoSealed'> {
  idNo: string | null;
}
