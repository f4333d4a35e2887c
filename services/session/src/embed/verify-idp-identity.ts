import type { TenantRequest } from '@parley/kernel/caller-request';
import { DomainError } from '@parley/kernel/errors';
import { parseInput, text, withoutNulls } from '@parley/kernel/input';
import type { ProviderPerson } from '@parley/protos/parley/identity/v1/identity';
import { z } from 'zod';
import type { SdkVerifyIdpIdentityInput, SdkVerifyIdpIdentityResult } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { requireOwnSession } from '../require-own-session.ts';
import { assertActive } from '../session.ts';
import { lockQueueOf } from '../session-lock-queue.ts';
import { sessionStore } from '../session-store.ts';
import { type VerifiedIdentity, withIdentity } from './verified-identity.ts';

const maxProducts = 10;
const ticketText = text(4_096);
const tickets = z.object({
  sessionId: z.number(),
  ticket: ticketText,
  productTickets: z
    .array(z.object({ product: text(100), ticket: ticketText }))
    .max(maxProducts, `must have at most ${maxProducts} tickets`)
    .refine((all) => new Set(all.map(({ product }) => product)).size === all.length, {
      error: 'must not have a product twice',
      when: () => true,
    })
    .optional(),
});

/** Longer than identity waits for the provider. */
const exchangeTimeoutMs = 15_000;

/**
 * Exchanges tickets of the person at the identity provider, one by one, and stores who it is on the session: from its next turn on workflows see
 * it. Where one ticket is refused nothing is stored, and those before it are spent.
 * @throws DomainError `forbidden`; `invalid`: `TICKET_REFUSED`, `IDP_ONE_NOT_CONFIGURED`, a session that is not active; `unavailable`
 */
export async function verifyIdpIdentity(
  ports: Ports,
  request: TenantRequest,
  input: SdkVerifyIdpIdentityInput,
): Promise<SdkVerifyIdpIdentityResult> {
  const { caller, signal } = request;
  requireOwnSession(caller, input.sessionId);
  const { sessionId, ticket, productTickets = [] } = parseInput(tickets, withoutNulls(input));
  const { tenantId } = caller;
  // A session that takes no messages spends no ticket.
  assertActive(await ports.database.read(tenantId, (db) => sessionStore(db).get(sessionId)));

  const person = await exchange(ports, request, ticket, 'input.ticket');
  const products: VerifiedIdentity['products'] = [];
  for (const [at, { product, ticket: given }] of productTickets.entries()) {
    const { subject } = await exchange(ports, request, given, `input.productTickets.${at}.ticket`);
    products.push({ product, subject });
  }

  const verified: VerifiedIdentity = {
    subject: person.subject,
    email: person.verifiedEmail || null,
    fullname: person.fullname || null,
    company: person.company || null,
    products,
  };
  const stored = await ports.database.transact(
    tenantId,
    async (db) => {
      const session = await sessionStore(db).lock(sessionId);
      assertActive(session);
      const identity = withIdentity(session.identity, verified);
      await sessionStore(db).setIdentity(sessionId, identity);
      return identity;
    },
    { turn: lockQueueOf({ tenantId, sessionId }), signal },
  );
  const { subject, email, fullname, company } = stored;
  return {
    sessionId,
    subject,
    email,
    fullname,
    company,
    linkedProducts: stored.products.map(({ product }) => product),
  };
}

async function exchange(
  { identity }: Ports,
  { caller, signal }: TenantRequest,
  ticket: string,
  path: string,
): Promise<ProviderPerson> {
  const { person } = await identity.exchangeTicket(
    { ticket },
    { caller, signal, timeoutMs: exchangeTimeoutMs, expectedErrors: ['invalid', 'tooManyRequests'] },
  );
  if (person) return person;
  throw new DomainError('invalid', 'The identity provider refused the ticket', {
    reason: 'TICKET_REFUSED',
    fields: [{ path, message: 'is refused by the identity provider, or was used before' }],
  });
}
