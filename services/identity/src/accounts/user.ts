import { column, type RowOf, table } from '@parley/postgres/database/table';
import type { UserStatusType } from '../generated/schema.ts';

export type UserStatus = UserStatusType;

/** The readable columns of a user, without credentials. */
export const users = table('users', {
  id: column<number>(),
  email: column<string | null>(),
  fullname: column<string>(),
  username: column<string | null>(),
  /** Dial prefix and national digits, as given. */
  phoneCode: column<string | null>(),
  phoneNumber: column<string | null>(),
  idType: column<string | null>(),
  idNoSealed: column<Buffer | null>(),
  referralCode: column<string>(),
  status: column<UserStatus>(),
  twoFactorEnabled: column<boolean>({ sql: (user) => `${user}.two_factor_secret_sealed IS NOT NULL` }),
  createdAt: column<Date>(),
  updatedAt: column<Date>(),
});

export type StoredUser = RowOf<typeof users>;

export interface User extends Omit<StoredUser, 'idNoSealed'> {
  idNo: string | null;
}
