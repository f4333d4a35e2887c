import type { CallerRequest } from '@parley/kernel/caller-request';
import type { SharedDb } from '@parley/postgres/database/types';
import { accountStore, type SignInMethods } from '../accounts/account-store.ts';
import { userStore } from '../accounts/user-store.ts';
import { apiKeyStore } from '../api-keys/api-key-store.ts';
import { notifyOwner } from '../messages/notify-owner.ts';
import type { Ports } from '../ports.ts';
import { securedTokenStore } from '../secured-tokens/secured-token-store.ts';
import { removeTwoFactor } from '../two-factor/two-factor.ts';
import { beginSignIn } from './begin-sign-in.ts';
import { limitOf } from './sign-in-limit.ts';
import { signInStore } from './sign-in-store.ts';
import { userSuspended } from './signed-in.ts';

export class ResolutionChanged extends Error {
  override readonly name = 'ResolutionChanged';
}

/**
 * Signs in to an account, and links the identity if the account was found by email.
 * @returns undefined if the account is linked to another identity; its owner is notified
 * @throws ResolutionChanged if the account was deleted, or no longer has the identity or the email
 * @throws DomainError `forbidden` with `USER_SUSPENDED`
 * @throws a unique violation if the identity was linked concurrently
 */
export async function signInToAccount(
  ports: Ports,
  { caller, signal }: CallerRequest,
  { userId, subject, verifiedEmail }: { userId: number; subject: string; verifiedEmail: string | null },
) {
  const work = async (db: SharedDb) => {
    const account = await accountStore(db).lock(userId);
    if (!account) throw new ResolutionChanged();
    const isLinked = account.idpOneSubject === subject;
    const hasEmail = verifiedEmail !== null && account.email === verifiedEmail;
    if (!isLinked && !hasEmail) throw new ResolutionChanged();
    if (account.status === 'SUSPENDED') throw userSuspended();
    if (!isLinked && account.idpOneSubject !== null) {
      await notifyOwner(ports, db, userId, 'IDENTITY_REFUSED');
      return undefined;
    }
    const keptTwoFactor = account.hasTwoFactor && (isLinked || account.emailProved);
    const revoked = isLinked ? [] : await link(ports, db, { userId, subject }, account);
    const signIn = await beginSignIn(ports, db, {
      userId,
      tenantId: 'last',
      limitedReason: limitOf({ hasTwoFactor: keptTwoFactor, emailProofRequired: !account.emailProved }, 'IDP_ONE'),
      ip: caller.ip ?? null,
    });
    return { signIn, revoked };
  };
  const done = await ports.database.transactShared(work, { lockQueue: { user: userId }, signal });
  for (const whose of done?.revoked ?? []) await ports.announce(whose);
  return done?.signIn;
}

type Whose = Parameters<Ports['announce']>[0];

/**
 * Links the identity. If no code or link sent to the account's email was ever used, somebody else may have created the account; all earlier
 * credentials are then revoked or limited. Returns the affected credentials.
 */
async function link(
  ports: Ports,
  db: SharedDb,
  { userId, subject }: { userId: number; subject: string },
  { emailProved }: SignInMethods,
): Promise<Whose[]> {
  await userStore(db).update(userId, { idpOneSubject: subject });
  await notifyOwner(ports, db, userId, 'IDENTITY_LINKED');
  if (emailProved) return [];
  await removeTwoFactor(db, userId);
  await accountStore(db).requireEmailProof(userId);
  await securedTokenStore(db).end({ userId });
  await signInStore(db).revoke({ userId });
  const tenants = await apiKeyStore(db).revokeOfOwner(userId);
  return [{ $case: 'userId', value: userId }, ...tenants.map((value): Whose => ({ $case: 'tenantId', value }))];
}
