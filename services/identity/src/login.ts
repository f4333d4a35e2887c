import type { Caller } from '@parley/kernel/caller';
import { unauthenticated } from '@parley/kernel/errors';
import { anyText, parseInput } from '@parley/kernel/input';
import { codePoints } from '@parley/kernel/input-checks';
import type { SharedDb } from '@parley/postgres/database/types';
import { z } from 'zod';
import { type AccessToken, issueTokens } from './access-token.ts';
import { beginSignIn } from './begin-sign-in.ts';
import { normalEmail } from './email-address.ts';
import type { SignInInput } from './generated/schema.ts';
import type { LoginDoor } from './login-lock.ts';
import { maxPasswordLength } from './password-rules.ts';
import { type Asker, askerOf } from './passwords.ts';
import { readPhoneQuery } from './phone-number.ts';
import type { Ports } from './ports.ts';
import { signInStore } from './sign-in-store.ts';
import { userSuspended } from './signed-in.ts';
import { type Account, userStore } from './user-store.ts';

const credentials = z
  .object({ email: anyText().nullish(), phoneNumber: anyText().nullish(), password: anyText() })
  .refine(({ email, phoneNumber }) => (email == null) !== (phoneNumber == null), {
    path: ['email'],
    error: 'or input.phoneNumber must be given, and not both',
    when: () => true, // also beside other problems
  });

/**
 * Signs in with a password. An unknown account, a wrong password and a locked door are answered alike, in like time; that an
 * account is suspended learns only who has its password.
 */
export async function login(
  ports: Ports,
  caller: Caller,
  input: SignInInput,
  gone?: AbortSignal,
): Promise<AccessToken> {
  parseInput(credentials, input);

  const asker = askerOf(caller, gone);
  using _entered = await ports.passwords.enter(asker);
  const found = await ports.database.transactShared((db) => findAccount(userStore(db), input));
  const subject = subjectOf(found, input);
  const ip = caller.ip ?? '';
  const door = await ports.loginLock.door(subject, ip);
  const account = await verified(ports, door, found, input.password, ip, asker).catch(async (error: unknown) => {
    // What could not be looked at was no guess. Should that not be told either, it stays counted.
    if (door !== 'closed') await ports.loginLock.untried(subject, ip).catch(() => undefined);
    throw error;
  });
  if (!account) {
    if (door !== 'closed') await ports.loginLock.failed(subject, ip);
    throw wrongCredentials();
  }
  await ports.loginLock.succeeded(subject, ip);
  if (account.status === 'SUSPENDED') throw userSuspended();

  const { userId, passwordHash } = account;
  const begin = async (db: SharedDb) => {
    if (!(await userStore(db).stillHas(userId, passwordHash))) throw wrongCredentials();
    return beginSignIn(ports, db, {
      userId,
      tenantId: 'last',
      limitedReason: account.hasTwoFactor ? 'TWO_FACTOR_REQUIRED' : null,
      ip: caller.ip ?? null,
      fcmToken: null,
    });
  };
  const signIn = await ports.database.transactShared(begin, { turn: { user: userId }, gone });
  return issueTokens(ports, signIn);
}

/** The account, where this is its password and the door is open to who brings it. The same work is done whatever is wrong. */
async function verified(
  ports: Ports,
  door: LoginDoor,
  found: Account | undefined,
  password: string,
  ip: string,
  asker: Asker,
) {
  // Nobody has the id 0: for an account that is not there the same is asked.
  const knows = () => ports.database.transactShared((db) => signInStore(db).hasBegunFrom(found?.userId ?? 0, ip));
  const account = door === 'known' && !(await knows()) ? undefined : found;
  // Behind a closed door, and for what nobody can have as a password, the same work is done for nothing.
  const possible = door !== 'closed' && codePoints(password) <= maxPasswordLength;
  const passwordHash = account?.passwordHash;
  const right = await ports.passwords.verify(possible ? passwordHash : null, possible ? password : '', asker);
  return account && passwordHash && right ? { ...account, passwordHash } : undefined;
}

/**
 * What guesses are counted against: the account that the look-up found, so that no other spelling of its email or phone has
 * guesses of its own. What finds none is counted by what was looked up.
 */
function subjectOf(found: Account | undefined, input: SignInInput): string {
  if (found) return `account ${found.userId}`;
  if (input.email != null) return `email ${normalEmail(input.email)}`;
  const query = readPhoneQuery(input.phoneNumber ?? '');
  if (!query) return 'no number';
  return `phone ${'e164' in query ? query.e164 : query.national}`;
}

async function findAccount(users: ReturnType<typeof userStore>, input: SignInInput): Promise<Account | undefined> {
  if (input.email != null) return users.findAccountByEmail(normalEmail(input.email));
  const query = readPhoneQuery(input.phoneNumber ?? '');
  return query && users.findAccountByPhone(query);
}

function wrongCredentials() {
  return unauthenticated('Wrong credentials');
}
