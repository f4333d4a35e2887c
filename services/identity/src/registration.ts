import { inputChecks } from '@parley/chassis/input-checks';
import { isEmail, normalEmail } from './email-address.ts';
import { folded } from './folded.ts';
import { checkNewPassword } from './password-rules.ts';
import { type Phone, readPhone } from './phone-number.ts';

export interface RegisterInput {
  email: string;
  password: string;
  fullname: string;
  phoneCode: string;
  phoneNumber: string;
  fcmToken?: string | null;
  idNo?: string | null;
  idType?: string | null;
  referralCode?: string | null;
}

/** A registration that has nothing wrong by itself. */
export interface Registration {
  /** As it compares. */
  email: string;
  password: string;
  fullname: string;
  phone: Phone;
  fcmToken: string | null;
  /** As given. */
  idNo: string | null;
  idType: string | null;
  referralCode: string | null;
}

/** Leaves room for "'s Workspace" in the name of the tenant. */
const maxFullname = 200;

/** @throws DomainError `invalid` naming everything that is wrong with the input. */
export function checkedRegistration(input: RegisterInput): Registration {
  const check = inputChecks();
  const email = normalEmail(input.email);
  check.storable('input.email', input.email);
  if (!isEmail(email)) check.refuse('input.email', 'is not an email address');
  checkNewPassword(check, 'input.password', input.password, email);
  check.text('input.fullname', input.fullname, { max: maxFullname });
  check.optionalText('input.fcmToken', input.fcmToken, { max: 4_096 });
  check.optionalText('input.idNo', input.idNo, { max: 64 });
  check.optionalText('input.idType', input.idType, { max: 64 });
  check.optionalText('input.referralCode', input.referralCode, { max: 64 });
  check.storable('input.phoneCode', input.phoneCode);
  check.storable('input.phoneNumber', input.phoneNumber);
  const phone = readPhone(input.phoneCode, input.phoneNumber);
  if (!phone) check.refuse('input.phoneNumber', 'is not a possible phone number with this dial prefix');
  check.finish();
  if (!phone) throw new Error('a phone that cannot be read was not refused');
  return {
    email,
    password: input.password,
    fullname: input.fullname,
    phone,
    fcmToken: input.fcmToken ?? null,
    idNo: input.idNo ?? null,
    idType: input.idType?.trim() ?? null,
    referralCode: input.referralCode ?? null,
  };
}

/** How numbers of identity documents compare. They are kept as given. */
export function normalIdNo(idNo: string): string {
  return folded(idNo).toUpperCase();
}
