import { anyText, text } from '@parley/kernel/input';
import { z } from 'zod';
import { isSameAsEmail, newPassword } from '../passwords/password-rules.ts';
import { isEmail, normalEmail } from './email-address.ts';
import { normalizeText } from './normalize-text.ts';
import { type Phone, readPhone } from './phone-number.ts';

/** The limit leaves space for "'s Workspace" in the tenant's name. */
export const maxFullname = 200;

const optional = (max: number) =>
  text(max)
    .nullish()
    .transform((given) => given ?? null);

/** Uniqueness is checked by the database. */
export const registration = z
  .object({
    email: anyText().transform(normalEmail).refine(isEmail, 'is not an email address'),
    password: newPassword,
    fullname: text(maxFullname),
    fcmToken: optional(4_096),
    idNo: optional(64),
    idType: optional(64).transform((given) => given && given.trim()),
    referralCode: optional(64),
    phoneCode: anyText(),
    phoneNumber: anyText(),
  })
  .refine(({ email, password }) => !isSameAsEmail(password, email), {
    path: ['password'],
    error: 'must not be the email',
    when: areValid('email', 'password'),
  })
  .refine(({ phoneCode, phoneNumber }) => readPhone(phoneCode, phoneNumber), {
    path: ['phoneNumber'],
    error: 'is not a possible phone number with this dial prefix',
    when: areValid('phoneCode', 'phoneNumber'),
  })
  .transform(({ phoneCode, phoneNumber, ...person }) => ({
    ...person,
    phone: readPhone(phoneCode, phoneNumber) as Phone,
  }));

/** Makes a check of several fields run only if each of these fields is valid; errors in other fields do not matter. */
function areValid(...fields: string[]) {
  return ({ issues }: z.core.ParsePayload) => !issues.some(({ path }) => fields.includes(String(path?.[0])));
}

export type Registration = z.output<typeof registration>;

/** Returns the form in which identity numbers are compared. The number itself is stored as given. */
export function normalIdNo(idNo: string): string {
  return normalizeText(idNo).toUpperCase();
}
