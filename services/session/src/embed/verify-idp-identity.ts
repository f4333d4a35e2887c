import { createHash } from 'node:crypto';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { badRequest, DomainError, invalid } from '@parley/kernel/errors';
import { parseInput, text, withoutNulls } from '@parley/kernel/input';
import type { ProviderPerson } from '@parley/protos/parley/identity/v1/identity';
import { z } from 'zod';
import type { SdkVerifyIdpIdentityInput, SdkVerifyIdpIdentityResult } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { requireOwnSession } from '../require-own-session.ts';
import { assertActive } from '../session.ts';
import { lockQueueOf } from '../session-lock-queue.ts';
import { sessionStore } from '../session-store.ts';
import { type VerifiedIdentity, withProduct } from './verified-identity.ts';

const maxTickets = 10;
/** Maximum products linked to one person, over all calls. */
const maxProducts = 20;
/** Maximum tickets per session, accepted or refused. For more tickets the tenant's server has to start another session. */
const maxExchanges = 50;
const ticketText = text(4_096);
const tickets = z.object({
  sessionId: z.number(),
  ticket: ticketText,
  productTickets: z
    .array(z.object({ product: text(100), ticket: ticketText }))
    .max(maxTickets, `must have at most ${maxTickets} tickets`)
    .refine((all) => new Set(all.map(({ product }) => product)).size === all.length, {
      error: 'must not have a product twice',
      when: () => true,
    })
    .optional(),
});

/** Timeout of one exchange in ms, longer than identity's own timeout for the provider. */
const exchangeTimeoutMs = 15_000;

/**
 * Exchanges the person's tickets at the identity provider one by one, and stores each result. Workflows see the results from the session's
 * next turn. If a ticket is refused or the provider is unavailable, earlier results remain. The call can then be retried with the same
 * ticket of the person and with new tickets in place of refused ones.
 * @throws DomainError `forbidden` for another session's token; `invalid` if the session is not active or too many products are linked, or
 * with reason `TICKET_REFUSED` or `IDP_ONE_NOT_CONFIGURED`; `tooManyRequests` after `maxExchanges` tickets; `unavailable` if the provider
 * does not respond
 */
export async function verifyIdpIdentity(
  ports: Ports,
  request: TenantRequest,
  input: SdkVerifyIdpIdentityInput,
): Promise<SdkVerifyIdpIdentityResult> {
  const { caller } = request;
  requireOwnSession(caller, input.sessionId);
  const { sessionId, ticket, productTickets = [] } = parseInput(tickets, withoutNulls(input));
  // The session is checked first, so that no ticket is used up for a session that accepts no messages.
  const session = await ports.database.read(caller.tenantId, (db) => sessionStore(db).get(sessionId));
  assertActive(session);
  const names = [session.identity?.products ?? [], productTickets].flat().map(({ product }) => product);
  if (new Set(names).size > maxProducts) {
    throw invalid({ path: 'input.productTickets', message: `links more than ${maxProducts} products` });
  }

  const ticketSha256 = createHash('sha256').update(ticket).digest('hex');
  let identity = session.identity;
  if (identity?.unfinished?.ticketSha256 !== ticketSha256) {
    const person = await exchange(ports, request, { sessionId, ticket, path: 'input.ticket' });
    const unfinished = { ticketSha256, products: [] };
    identity = await change(ports, request, sessionId, (before) => ({ ...identityOf(person, before), unfinished }));
  }
  for (const [at, { product, ticket: given }] of productTickets.entries()) {
    if (identity.unfinished?.products.includes(product)) continue;
    const path = `input.productTickets.${at}.ticket`;
    const { subject } = await exchange(ports, request, { sessionId, ticket: given, path });
    identity = await change(ports, request, sessionId, (before) => {
      const linked = withProduct(sameCall(before, ticketSha256), { product, subject });
      const products = [...(linked.unfinished?.products ?? []), product];
      return { ...linked, unfinished: { ticketSha256, products } };
    });
  }
  const { subject, email, fullname, company, products } = await change(ports, request, sessionId, (before) => {
    const { unfinished: _, ...finished } = sameCall(before, ticketSha256);
    return finished;
  });
  return { sessionId, subject, email, fullname, company, linkedProducts: products.map(({ product }) => product) };
}

/** Products that were linked before stay linked if the person is the same. */
function identityOf(person: ProviderPerson, before: VerifiedIdentity | null): VerifiedIdentity {
  const { subject, verifiedEmail, fullname, company } = person;
  return {
    subject,
    email: verifiedEmail || null,
    fullname: fullname || null,
    company: company || null,
    products: before?.subject === subject ? before.products : [],
  };
}

/** @throws DomainError `invalid`: a concurrent call has identified another person */
function sameCall(identity: VerifiedIdentity | null, ticketSha256: string): VerifiedIdentity {
  if (identity?.unfinished?.ticketSha256 === ticketSha256) return identity;
  throw badRequest('Another call has verified an identity for this session meanwhile', 'TICKET_REFUSED');
}

async function change(
  { database }: Ports,
  { caller: { tenantId } }: TenantRequest,
  sessionId: number,
  next: (before: VerifiedIdentity | null) => VerifiedIdentity,
): Promise<VerifiedIdentity> {
  const work = { lockQueue: lockQueueOf({ tenantId, sessionId }) };
  return database.transact(
    tenantId,
    async (db) => {
      const session = await sessionStore(db).lock(sessionId);
      assertActive(session);
      const identity = next(session.identity);
      await sessionStore(db).setIdentity(sessionId, identity);
      return identity;
    },
    work,
  );
}

/** Exchanges one ticket. The ticket is counted before the provider is called, so that concurrent calls cannot exceed the limit. */
async function exchange(
  { database, identity }: Ports,
  { caller, signal }: TenantRequest,
  { sessionId, ticket, path }: { sessionId: number; ticket: string; path: string },
): Promise<ProviderPerson> {
  const { tenantId } = caller;
  const isClaimed = await database.transact(tenantId, (db) => sessionStore(db).claimTicket(sessionId, maxExchanges));
  if (!isClaimed) throw new DomainError('tooManyRequests', 'This session has had too many tickets exchanged');
  const { person } = await identity
    .exchangeTicket(
      { ticket },
      { caller, signal, timeoutMs: exchangeTimeoutMs, expectedErrors: ['invalid', 'tooManyRequests'] },
    )
    .catch(async (error: unknown) => {
      // The provider has not decided, so the ticket may be sent again.
      await database.transact(tenantId, (db) => sessionStore(db).releaseTicket(sessionId));
      throw error;
    });
  if (person) return person;
  throw new DomainError('invalid', 'The identity provider refused the ticket', {
    reason: 'TICKET_REFUSED',
    fields: [{ path, message: 'is refused by the identity provider, or was used before' }],
  });
}
