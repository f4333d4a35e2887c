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
/**
 * Maximum number of tickets per session that the provider accepts or refuses. To exchange more, the tenant's server must start another
 * session.
 */
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

/**
 * Timeout, in ms, for the exchange of one ticket. It is longer than the default of `IDP_ONE_TIMEOUT_MS`, the time that identity allows for
 * the exchange.
 */
const exchangeTimeoutMs = 15_000;

/**
 * Exchanges tickets at the identity provider: first the ticket of the person, then one for each linked product. Each result is stored at
 * once, and workflows see it from the session's next turn. If an exchange fails, the call can be repeated: with the same ticket of the
 * person, and with a new ticket for each product whose ticket was refused.
 * @throws DomainError `forbidden` if the token belongs to another session
 * @throws DomainError `invalid` if the session is not active or too many products are linked, or with reason `TICKET_REFUSED` or
 * `IDP_ONE_NOT_CONFIGURED`
 * @throws DomainError `tooManyRequests` if the session has used up its `maxExchanges` tickets
 * @throws DomainError `unavailable` if the provider does not respond
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

/** Returns the session's identity for a person. If the session already had the same person, linked products stay linked. */
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

/**
 * Returns the identity if the call with this ticket is still the one that identified the person.
 * @throws DomainError `invalid` if a concurrent call has identified another person
 */
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

/**
 * Exchanges one ticket. The ticket is counted before the provider is called, so that concurrent calls together cannot exceed
 * `maxExchanges`.
 */
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
      // The provider has neither accepted nor refused the ticket, so the ticket does not count and may be sent again.
      await database.transact(tenantId, (db) => sessionStore(db).releaseTicket(sessionId));
      throw error;
    });
  if (person) return person;
  throw new DomainError('invalid', 'The identity provider refused the ticket', {
    reason: 'TICKET_REFUSED',
    fields: [{ path, message: 'is refused by the identity provider, or was used before' }],
  });
}
