import { anyText, text } from '@parley/kernel/input';
import { z } from 'zod';
import { isEmail, normalEmail } from './email-address.ts';
import { folded } from './folded.ts';
import { isSameAsEmail, newPassword } from './password-rules.ts';
import { type Phone, readPhone } from './phone-number.ts';

/** Leaves room for "'s Workspace" in the name of the tenant. */
const maxFullname = 200;

/** Null is as good as left out. */
const optional = (max: number) =>
  text(max)
    .nullish()
    .transform((given) => given ?? null);

/** A person who registers, with nothing wrong by themselves: their email as it compares, their phone read. */
export const registration = z
  .object({
    email: anyText().transform(normalEmail).refine(isEmail, 'is not an email address'),
    password: newPassword,
    fullname: text(maxFullname),
    fcmToken: optional(4_096),
    /** As given. */
    idNo: optional(64),
    idType: optional(64).transform((given) => given && given.trim()),
    referralCode: optional(64),
    phoneCode: anyText(),
    phoneNumber: anyText(),
  })
  .refine(({ email, password }) => !isSameAsEmail(password, email), {
    path: ['password'],
    error: 'must not be the email',
    when: areRight('email', 'password'),
  })
  .refine(({ phoneCode, phoneNumber }) => readPhone(phoneCode, phoneNumber), {
    path: ['phoneNumber'],
    error: 'is not a possible phone number with this dial prefix',
    when: areRight('phoneCode', 'phoneNumber'),
  })
  .transform(({ phoneCode, phoneNumber, ...person }) => ({
    ...person,
    phone: readPhone(phoneCode, phoneNumber) as Phone,
  }));

/** Fields that are compared are looked at where they themselves are right, whatever else is wrong. */
function areRight(...fields: string[]) {
  return ({ issues }: z.core.ParsePayload) => !issues.some(({ path }) => fields.includes(String(path?.[0])));
}

export type Registration = z.output<typeof registration>;

/** How numbers of identity documents compare. They are kept as given. */
export function normalIdNo(idNo: string): string {
  return folded(idNo).toUpperCase();
}
