import type { Caller } from '@parley/kernel/caller';
import { isUniqueViolation } from '@parley/kernel/database-errors';
import { badRequest, conflict } from '@parley/kernel/errors';
import { anyText, graphEnum, parseInput } from '@parley/kernel/input';
import { z } from 'zod';
import type { AuthProvider, MutationLinkIdentityArgs } from './generated/schema.ts';
import { exchangeTicket, ticketText } from './idp-one/exchange-ticket.ts';
import { withLockedAccount } from './locked-account.ts';
import { tellOwner } from './messages/tell-owner.ts';
import { newPassword, refuseEmail } from './password-rules.ts';
import { requesterOf } from './passwords.ts';
import type { Ports } from './ports.ts';
import { servedProvider } from './served-provider.ts';
import { signedIn, type UserCaller } from './signed-in.ts';
import { userStore } from './user-store.ts';

const anyToken = z.object({ provider: graphEnum<AuthProvider>(), providerToken: anyText() });
const ticketToken = z.object({ providerToken: ticketText });
const passwordToken = z.object({ providerToken: newPassword });

/**
 * Adds a way to sign in; true also where the account has it already.
 * @throws `conflict`: the identity has another account, or the account another identity; `invalid`; `notImplemented`; `REAUTHENTICATE`;
 * as `exchangeTicket` and `withLockedSignIn`
 */
export async function linkIdentity(
  ports: Ports,
  caller: Caller,
  input: MutationLinkIdentityArgs,
  signal?: AbortSignal,
): Promise<boolean> {
  const person = signedIn(caller);
  const { provider, providerToken } = parseInput(anyToken, input, '');
  const link = { PASSWORD: linkPassword, IDP_ONE: linkIdpOne }[servedProvider(provider)];
  await link(ports, person, providerToken, signal);
  return true;
}

async function linkIdpOne(
  ports: Ports,
  caller: UserCaller,
  providerToken: string,
  signal?: AbortSignal,
): Promise<void> {
  parseInput(ticketToken, { providerToken }, '');
  // A caller who may not link does not spend the ticket.
  await withLockedAccount(ports, caller, signal, async () => undefined);
  const identity = await exchangeTicket(ports, caller, providerToken, signal);
  if (!identity) throw badRequest('Invalid or expired ticket');
  const { subject } = identity;
  try {
    await withLockedAccount(ports, caller, signal, async (db, { idpOneSubject }) => {
      if (idpOneSubject === subject) return;
      if (idpOneSubject !== null) throw conflict('Your account is linked to another identity of this provider');
      await userStore(db).update(caller.userId, { idpOneSubject: subject });
      await tellOwner(ports, db, caller.userId, 'IDENTITY_LINKED');
    });
  } catch (error) {
    if (isUniqueViolation(error, 'users_idp_one_subject_live'))
      throw conflict('This identity is linked to another account');
    throw error;
  }
}

async function linkPassword(
  ports: Ports,
  caller: UserCaller,
  providerToken: string,
  signal?: AbortSignal,
): Promise<void> {
  const requester = requesterOf(caller, signal);
  using _admission = await ports.passwords.admit(requester);
  const { hasPassword, email } = await withLockedAccount(ports, caller, signal, async (_, account) => account);
  if (hasPassword) return;
  parseInput(passwordToken, { providerToken }, '');
  refuseEmail(providerToken, email, 'providerToken');
  const passwordHash = await ports.passwords.hash(providerToken, requester);
  await withLockedAccount(ports, caller, signal, async (db, account) => {
    if (account.hasPassword) return;
    await userStore(db).update(caller.userId, { passwordHash });
    await tellOwner(ports, db, caller.userId, 'IDENTITY_LINKED');
  });
}
