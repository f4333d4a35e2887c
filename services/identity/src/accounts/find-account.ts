import { normalEmail } from './email-address.ts';
import { readPhoneQuery } from './phone-number.ts';
import type { Account, userStore } from './user-store.ts';

/** An email or a phone number as people write it. Exactly one of the two is set. */
export interface ContactName {
  email?: string | null | undefined;
  phoneNumber?: string | null | undefined;
}

type Refinement = [(name: ContactName) => boolean, { path: string[]; error: string; when: () => boolean }];

/** Arguments of zod's `refine`: the input must name exactly one contact. */
export const namesOneContact: Refinement = [
  ({ email, phoneNumber }) => (email == null) !== (phoneNumber == null),
  {
    path: ['email'],
    error: 'or input.phoneNumber must be given, and not both',
    when: () => true, // the check always runs, so that this problem is reported together with others
  },
];

export async function findAccount(
  users: ReturnType<typeof userStore>,
  { email, phoneNumber }: ContactName,
): Promise<Account | undefined> {
  if (email != null) return users.findAccountByEmail(normalEmail(email));
  const query = readPhoneQuery(phoneNumber ?? '');
  return query && users.findAccountByPhone(query);
}
