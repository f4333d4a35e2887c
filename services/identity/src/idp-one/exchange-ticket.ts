import { createHash } from 'node:crypto';
import type { CallerRequest } from '@parley/kernel/caller-request';
import { badRequest } from '@parley/kernel/errors';
import { text } from '@parley/kernel/input';
import { requesterOf } from '../passwords/passwords.ts';
import type { Ports } from '../ports.ts';
import type { ProviderPerson } from './provider-person.ts';
import { seenTicketStore } from './seen-ticket-store.ts';

export const ticketText = text(4_096);

/**
 * Asks IDP_ONE, outside any transaction, who a ticket belongs to. The ticket is recorded before it is sent, so that it is never sent
 * concurrently, and never again after the provider has decided. If the provider did not answer, the ticket may be retried. If this process
 * dies during the exchange, the user needs a new ticket.
 * @returns undefined for a ticket that was seen before or that the provider refuses.
 * @throws DomainError `invalid` (`IDP_ONE_NOT_CONFIGURED`) if the provider's settings are missing
 * @throws DomainError `unavailable` if the provider does not answer in time, or answers unexpectedly
 * @throws DomainError `tooManyRequests` if too many exchanges wait
 */
export async function exchangeTicket(
  { idpOne, database }: Ports,
  request: CallerRequest,
  ticket: string,
): Promise<ProviderPerson | undefined> {
  if (!idpOne) throw badRequest('Nobody can sign in with this identity provider here', 'IDP_ONE_NOT_CONFIGURED');
  const signal = idpOne.deadlineSignal(request.signal);
  using _slot = await idpOne.enterQueue(requesterOf(request), signal);
  const sha256 = createHash('sha256').update(ticket).digest();
  if (!(await database.transactShared((db) => seenTicketStore(db).add(sha256)))) return undefined;
  try {
    return await idpOne.exchange(ticket, signal);
  } catch (error) {
    await database.transactShared((db) => seenTicketStore(db).remove(sha256)).catch(() => undefined);
    throw error;
  }
}
