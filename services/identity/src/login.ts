import type { Caller } from '@parley/chassis/caller';
import { badRequest, forbidden, unauthenticated } from '@parley/chassis/errors';
import { codePoints, inputChecks } from '@parley/chassis/input-checks';
import { type AccessToken, issueTokens } from './access-token.ts';
import { beginSignIn } from './begin-sign-in.ts';
import { normalEmail } from './email-address.ts';
import { maxPasswordLength } from './password-rules.ts';
import { readPhoneQuery } from './phone-number.ts';
import type { Ports } from './ports.ts';
import { type Account, userStore } from './user-store.ts';

export interface SignInInput {
  email?: string | null;
  phoneNumber?: string | null;
  password: string;
}

/**
 * Signs in with a password. An unknown account and a wrong password are answered alike, in like time; that an account is
 * suspended learns only who has its password.
 */
export async function login(ports: Ports, caller: Caller, input: SignInInput): Promise<AccessToken> {
  const check = inputChecks();
  for (const name of ['email', 'phoneNumber', 'password'] as const) check.storable(`input.${name}`, input[name]);
  check.finish();
  if ((input.email == null) === (input.phoneNumber == null)) throw badRequest('Give either email or phoneNumber');

  const account = await ports.database.transactShared((db) => findAccount(userStore(db), input));
  // What nobody can have as a password is not hashed at its length, but as long as any other.
  const possible = codePoints(input.password) <= maxPasswordLength;
  const right = await ports.passwords.verify(possible ? account?.passwordHash : null, possible ? input.password : '');
  if (!account?.passwordHash || !right) throw wrongCredentials();
  if (account.status === 'SUSPENDED') throw userSuspended();

  const { userId, passwordHash } = account;
  const signIn = await ports.database.transactShared(async (db) => {
    const users = userStore(db);
    if (!(await users.stillHas(userId, passwordHash))) throw wrongCredentials();
    return beginSignIn(ports, db, {
      userId,
      tenantId: await users.findLastTenant(userId),
      limitedReason: account.hasTwoFactor ? 'TWO_FACTOR_REQUIRED' : null,
      ip: caller.ip ?? null,
      fcmToken: null,
    });
  });
  return issueTokens(ports, signIn);
}

async function findAccount(users: ReturnType<typeof userStore>, input: SignInInput): Promise<Account | undefined> {
  if (input.email != null) return users.findAccountByEmail(normalEmail(input.email));
  const query = readPhoneQuery(input.phoneNumber ?? '');
  return query && users.findAccountByPhone(query);
}

function wrongCredentials() {
  return unauthenticated('Wrong credentials');
}

export function userSuspended() {
  return forbidden('This account is suspended', 'USER_SUSPENDED');
}
