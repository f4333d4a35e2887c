import type { CallerRequest } from '@parley/kernel/caller-request';
import { isUniqueViolation } from '@parley/kernel/database-errors';
import { conflict, unauthenticated } from '@parley/kernel/errors';
import { parseInput } from '@parley/kernel/input';
import { z } from 'zod';
import { accountStore } from '../accounts/account-store.ts';
import { openIdpOneAccount } from '../accounts/open-idp-one-account.ts';
import type { MutationLoginWithIdpOneArgs } from '../generated/schema.ts';
import { exchangeTicket, ticketText } from '../idp-one/exchange-ticket.ts';
import type { ProviderPerson } from '../idp-one/provider-person.ts';
import { type AccessToken, issueTokens } from '../keys/access-token.ts';
import type { Ports } from '../ports.ts';
import { ResolutionChanged, signInToAccount } from './sign-in-to-account.ts';

const ticketOnly = z.object({ ticket: ticketText });

const maxAttempts = 10;

/**
 * Signs in to the account of the ticket's identity, else to the account with the identity's verified email, else to a new account. Unique
 * indexes and the locked row of the account decide between concurrent calls: the loser of a race looks again and finds the winner's
 * account.
 * @throws `unauthenticated` if the ticket is refused
 * @throws `conflict` if the account has another identity
 * @throws `USER_SUSPENDED` if the user is suspended
 * @throws the errors of `exchangeTicket`
 */
export async function loginWithIdpOne(
  ports: Ports,
  request: CallerRequest,
  input: MutationLoginWithIdpOneArgs,
): Promise<AccessToken> {
  const { ticket } = parseInput(ticketOnly, input, '');
  const person = await exchangeTicket(ports, request, ticket);
  if (!person) throw unauthenticated('Invalid or expired ticket');
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await signIn(ports, request, person);
    } catch (error) {
      const isChanged = error instanceof ResolutionChanged || isUniqueViolation(error);
      if (!isChanged || attempt === maxAttempts) throw error;
    }
  }
}

async function signIn(ports: Ports, request: CallerRequest, person: ProviderPerson) {
  const { email, emailVerified, subject } = person;
  const verifiedEmail = emailVerified ? email : null;
  const userId = await ports.database.transactShared((db) => accountStore(db).find(subject, verifiedEmail));
  if (userId === undefined) return issueTokens(ports, await openIdpOneAccount(ports, request, person));

  const signedIn = await signInToAccount(ports, request, { userId, subject, verifiedEmail });
  if (!signedIn) throw conflict('The account with this email is linked to another identity of this provider');
  return issueTokens(ports, signedIn);
}
