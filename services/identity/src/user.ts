import type { UserStatusType } from './generated/schema.ts';

export type UserStatus = UserStatusType;

/** The signed-in person, as they see themselves. */
export interface User {
  id: number;
  email: string | null;
  fullname: string;
  username: string | null;
  /** Dial prefix and national digits, as given. */
  phoneCode: string | null;
  phoneNumber: string | null;
  idNo: string | null;
  idType: string | null;
  referralCode: string;
  status: UserStatus;
  /** Whether a second factor is bound. */
  twoFactorEnabled: boolean;
  createdAt: Date;
  updatedAt: Date;
}
