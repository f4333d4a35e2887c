import type { CallerRequest } from '@parley/kernel/caller-request';
import { unauthenticated } from '@parley/kernel/errors';
import { anyText, parseInput } from '@parley/kernel/input';
import { codePoints } from '@parley/kernel/input-checks';
import type { SharedDb } from '@parley/postgres/database/types';
import { z } from 'zod';
import { normalEmail } from '../accounts/email-address.ts';
import { findAccount, namesOneContact } from '../accounts/find-account.ts';
import { readPhoneQuery } from '../accounts/phone-number.ts';
import { type Account, userStore } from '../accounts/user-store.ts';
import type { SignInInput } from '../generated/schema.ts';
import { type AccessToken, issueTokens } from '../keys/access-token.ts';
import { notifyOwner } from '../messages/notify-owner.ts';
import { maxPasswordLength } from '../passwords/password-rules.ts';
import { type Requester, requesterOf } from '../passwords/passwords.ts';
import type { Ports } from '../ports.ts';
import { beginSignIn } from './begin-sign-in.ts';
import type { LockState } from './login-lock.ts';
import { limitOf } from './sign-in-limit.ts';
import { signInStore } from './sign-in-store.ts';
import { userSuspended } from './signed-in.ts';

const credentials = z
  .object({ email: anyText().nullish(), phoneNumber: anyText().nullish(), password: anyText() })
  .refine(...namesOneContact);

/**
 * Signs in with a password.
 * @throws `unauthenticated` if the credentials are wrong or a lock applies
 * @throws `USER_SUSPENDED` if the password is correct but the user is suspended
 * @throws `invalid` if the input is malformed
 * @throws `tooManyRequests` if too many passwords wait to be checked
 * @throws `unavailable` if the queue is full, or if the key-value store is unavailable
 */
export async function login(ports: Ports, request: CallerRequest, input: SignInInput): Promise<AccessToken> {
  const { caller, signal } = request;
  parseInput(credentials, input);

  const anyone = requesterOf(request);
  using _admission = await ports.passwords.admit(anyone);
  const ip = caller.ip ?? '';
  const { found, isKnown } = await ports.database.transactShared(async (db) => {
    const found = await findAccount(userStore(db), input);
    // Without an account, queries the unused id 0, so that the same statement runs.
    return { found, isKnown: await signInStore(db).hasSignedInFrom(found?.userId ?? 0, ip) };
  });
  const requester = { ...anyone, isKnown, user: found?.userId };
  const subject = subjectOf(found, input);
  const lockState = await ports.loginLock.countAttempt(subject, ip);
  const account = await verifyAccount(ports, lockState, found, input.password, requester).catch(
    async (error: unknown) => {
      // The password was not checked, so the attempt no longer counts. If the key-value store is unavailable, the attempt stays counted.
      if (lockState !== 'locked') await ports.loginLock.cancelled(subject, ip).catch(() => undefined);
      throw error;
    },
  );
  if (!account) {
    if (lockState !== 'locked') await recordFailure(ports, { subject, ip, userId: found?.userId });
    throw wrongCredentials();
  }
  await ports.loginLock.succeeded(subject, ip);
  if (account.status === 'SUSPENDED') throw userSuspended();

  const { userId, passwordHash } = account;
  const begin = async (db: SharedDb) => {
    const locked = await userStore(db).lockIfUnchanged(userId, passwordHash);
    if (!locked) throw wrongCredentials();
    return beginSignIn(ports, db, {
      userId,
      tenantId: 'last',
      limitedReason: limitOf(locked, 'PASSWORD'),
      ip: caller.ip ?? null,
    });
  };
  const signIn = await ports.database.transactShared(begin, { lockQueue: { user: userId }, signal });
  return issueTokens(ports, signIn);
}

/** Mails the owner of an account with many failures. Does the same work for an unknown account, but mails nobody. */
async function recordFailure(
  ports: Ports,
  { subject, ip, userId }: { subject: string; ip: string; userId: number | undefined },
): Promise<void> {
  const { shouldNotify } = await ports.loginLock.failed(subject, ip);
  if (!shouldNotify) return;
  const notified = ports.database.transactShared((db) => notifyOwner(ports, db, userId ?? 0, 'FAILED_LOGINS'));
  await notified.catch((error: unknown) =>
    ports.log.warn({ err: error, userId }, 'owner not notified of failed logins'),
  );
}

/**
 * Returns the account if the password is correct and no lock applies. Returns undefined after the same time for an
 * unknown account, a wrong password and a lock, which all get the same error.
 */
async function verifyAccount(
  ports: Ports,
  lockState: LockState,
  found: Account | undefined,
  password: string,
  requester: Requester,
) {
  const account = lockState === 'knownAddresses' && !requester.isKnown ? undefined : found;
  // During a lock, or for a password that is too long, hashes an empty password to take the same time.
  const comparable = lockState !== 'locked' && codePoints(password) <= maxPasswordLength;
  const passwordHash = account?.passwordHash;
  const matches = await ports.passwords.verify(comparable ? passwordHash : null, comparable ? password : '', requester);
  return account && passwordHash && matches ? { ...account, passwordHash } : undefined;
}

/**
 * Returns the subject of an attempt: the account, so that all spellings of its email or phone share one count; for an
 * unknown account, the normalized name.
 */
function subjectOf(found: Account | undefined, input: SignInInput): string {
  if (found) return `account ${found.userId}`;
  if (input.email != null) return `email ${normalEmail(input.email)}`;
  const query = readPhoneQuery(input.phoneNumber ?? '');
  if (!query) return 'no number';
  return `phone ${'e164' in query ? query.e164 : query.national}`;
}

function wrongCredentials() {
  return unauthenticated('Wrong credentials');
}
