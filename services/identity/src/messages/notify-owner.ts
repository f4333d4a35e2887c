import type { SharedDb } from '@parley/postgres/database/types';
import { userStore } from '../accounts/user-store.ts';
import type { Ports } from '../ports.ts';
import { composeMessage } from './compose-message.ts';
import { queueMessage } from './send-message.ts';

/** The subjects and first sentences of mails to an account's owner. */
const notices = {
  PASSWORD_CHANGED: [
    'your password was changed',
    'The password of your account was changed, and other sign-ins ended.',
  ],
  IDENTITY_LINKED: ['a way to sign in was added', 'Another way to sign in was added to your account.'],
  IDENTITY_UNLINKED: ['a way to sign in was removed', 'A way to sign in was removed from your account.'],
  IDENTITY_REFUSED: [
    'a sign-in was refused',
    'Somebody signed in with an identity that has your email address, but your account is linked to another one. They were refused.',
  ],
  TWO_FACTOR_BOUND: ['two-factor sign-in is on', 'Two-factor sign-in was turned on for your account.'],
  TWO_FACTOR_UNBOUND: ['two-factor sign-in is off', 'Two-factor sign-in was turned off for your account.'],
  API_KEY_GENERATED: ['a new API key was made', 'A new API key was made for your tenant, and the previous one ended.'],
  TENANT_DELETED: ['a tenant was deleted', 'Your tenant was deleted.'],
  FAILED_LOGINS: [
    'many failed sign-ins',
    'There were many failed sign-ins to your account. For an hour, it can be signed in to only from addresses that it has used before.',
  ],
} as const satisfies Record<string, readonly [string, string]>;

export type OwnerNotice = keyof typeof notices;

const validForS = 24 * 60 * 60;
/**
 * Notices that other people can trigger repeatedly. To an unverified email they have a lower daily limit than other notices, so that they
 * cannot use up all mails of a day.
 */
const repeated: OwnerNotice[] = ['API_KEY_GENERATED', 'FAILED_LOGINS', 'IDENTITY_REFUSED'];
const maxToUnproved = { repeated: 20, all: 40 };

/**
 * Mails a security notice to the owner of an account after the commit. Takes the same time for an account without an email. The text
 * contains nothing chosen by a user, because an unverified email may belong to a stranger. For the same reason, the number of notices to an
 * unverified email is limited per UTC day.
 */
export async function notifyOwner(
  ports: Pick<Ports, 'box' | 'clock'>,
  db: SharedDb,
  userId: number,
  notice: OwnerNotice,
): Promise<void> {
  const options = { queue: 'notice', key: `user ${userId}`, validForS } as const;
  const max = repeated.includes(notice) ? maxToUnproved.repeated : maxToUnproved.all;
  const email = await userStore(db).countNotice(userId, max);
  if (email == null) return queueMessage(ports, db, null, options);
  const [subject, happened] = notices[notice];
  const at = `${ports.clock().toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const wording = composeMessage({
    subject,
    paragraphs: [
      `${happened} That was at ${at}.`,
      'If it was not you, set a new password at once, by the link or code for a forgotten password, and tell the operator of this platform.',
    ],
  });
  await queueMessage(ports, db, { to: { email }, ...wording }, options);
}
