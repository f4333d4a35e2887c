import type { CallerRequest } from '@parley/kernel/caller-request';
import { isUniqueViolation } from '@parley/kernel/database-errors';
import { badRequest, conflict } from '@parley/kernel/errors';
import { anyText, graphEnum, parseInput } from '@parley/kernel/input';
import { z } from 'zod';
import type { AuthProvider, MutationLinkIdentityArgs } from '../generated/schema.ts';
import { exchangeTicket, ticketText } from '../idp-one/exchange-ticket.ts';
import { notifyOwner } from '../messages/notify-owner.ts';
import { newPassword, refuseEmail } from '../passwords/password-rules.ts';
import { requesterOf } from '../passwords/passwords.ts';
import type { Ports } from '../ports.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import { withLockedAccount } from './locked-account.ts';
import { servedProvider } from './served-provider.ts';
import { userStore } from './user-store.ts';

const anyToken = z.object({ provider: graphEnum<AuthProvider>(), providerToken: anyText() });
const ticketToken = z.object({ providerToken: ticketText });
const passwordToken = z.object({ providerToken: newPassword });

/**
 * Links a login method to the account. Returns true, even if the method is already linked.
 * @throws `conflict` if the identity belongs to another account, or the account has another identity
 * @throws `invalid` if the ticket or password is refused
 * @throws `notImplemented` if the provider is not served
 * @throws `REAUTHENTICATE` if the sign-in is not recent
 * @throws the errors of `exchangeTicket` and `withLockedSignIn`
 */
export async function linkIdentity(
  ports: Ports,
  request: CallerRequest,
  input: MutationLinkIdentityArgs,
): Promise<boolean> {
  signedIn(request.caller);
  const { provider, providerToken } = parseInput(anyToken, input, '');
  const link = { PASSWORD: linkPassword, IDP_ONE: linkIdpOne }[servedProvider(provider)];
  await link(ports, request, providerToken);
  return true;
}

async function linkIdpOne(ports: Ports, request: CallerRequest, providerToken: string): Promise<void> {
  const { userId } = signedIn(request.caller);
  parseInput(ticketToken, { providerToken }, '');
  // The account is checked before the ticket is exchanged, so that a refused caller does not use up the ticket.
  await withLockedAccount(ports, request, async () => undefined);
  const identity = await exchangeTicket(ports, request, providerToken);
  if (!identity) throw badRequest('Invalid or expired ticket');
  const { subject } = identity;
  try {
    await withLockedAccount(ports, request, async (db, { idpOneSubject }) => {
      if (idpOneSubject === subject) return;
      if (idpOneSubject !== null) throw conflict('Your account is linked to another identity of this provider');
      await userStore(db).update(userId, { idpOneSubject: subject });
      await notifyOwner(ports, db, userId, 'IDENTITY_LINKED');
    });
  } catch (error) {
    if (isUniqueViolation(error, 'users_idp_one_subject_live'))
      throw conflict('This identity is linked to another account');
    throw error;
  }
}

async function linkPassword(ports: Ports, request: CallerRequest, providerToken: string): Promise<void> {
  const { userId } = signedIn(request.caller);
  const requester = requesterOf(request);
  using _admission = await ports.passwords.admit(requester);
  const { hasPassword, email } = await withLockedAccount(ports, request, async (_, account) => account);
  if (hasPassword) return;
  parseInput(passwordToken, { providerToken }, '');
  refuseEmail(providerToken, email, 'providerToken');
  const passwordHash = await ports.passwords.hash(providerToken, requester);
  await withLockedAccount(ports, request, async (db, account) => {
    if (account.hasPassword) return;
    await userStore(db).update(userId, { passwordHash });
    await notifyOwner(ports, db, userId, 'IDENTITY_LINKED');
  });
}
