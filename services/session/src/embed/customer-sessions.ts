import type { TenantRequest } from '@parley/kernel/caller-request';
import { anyText, parseInput } from '@parley/kernel/input';
import { z } from 'zod';
import type {
  CustomerUsageSummaryDto,
  QueryCustomerUsageSummaryArgs,
  QuerySessionsByExternalCustomerIdArgs,
} from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import type { Session } from '../session.ts';
import { sessionStore } from '../session-store.ts';
import type { CustomerOfTenant } from './customer-cursors.ts';

/** A page of a customer's sessions, newest first. It has only the ids; the sessions are read if the query selects their fields. */
export interface CustomerPage extends CustomerOfTenant {
  sessionIds: number[];
  hasNextPage: boolean;
}

/** A session on a page of a customer's sessions. */
export interface CustomerEdge {
  sessionId: number;
  cursor: string;
}

const customer = z.object({ externalCustomerId: anyText(1_000) });
const customerPage = customer.extend({
  first: z.int().min(1, 'must be at least 1').max(100, 'must be at most 100').nullish(),
  after: z.string().nullish(),
});

const defaultFirst = 20;
const maxInt = 2_147_483_647;

/**
 * Lists a page of a customer's sessions. @throws DomainError `invalid` if an argument is invalid, or the cursor belongs to another customer
 * or tenant
 */
export async function listCustomerSessions(
  { database, cursors }: Ports,
  { caller: { tenantId } }: TenantRequest,
  args: QuerySessionsByExternalCustomerIdArgs,
): Promise<CustomerPage> {
  const { externalCustomerId, first, after } = parseInput(customerPage, args, '');
  const size = first ?? defaultFirst;
  const before = after == null ? undefined : cursors.readCursor({ tenantId, externalCustomerId }, after);
  const ids = await database.read(tenantId, (db) =>
    sessionStore(db).listIdsOfCustomer({ externalCustomerId, before, limit: size + 1 }),
  );
  return { tenantId, externalCustomerId, sessionIds: ids.slice(0, size), hasNextPage: ids.length > size };
}

export function countCustomerSessions(
  { database, lookUpQueue }: Ports,
  { signal }: TenantRequest,
  { tenantId, externalCustomerId }: CustomerOfTenant,
): Promise<number> {
  const count = () => database.read(tenantId, (db) => sessionStore(db).countOfCustomer(externalCustomerId));
  return lookUpQueue(tenantId, count, signal);
}

/**
 * Reads sessions in the order of `ids`. Each id must exist; an id that was read before does, because sessions are never deleted.
 * @throws DomainError `invalid` with reason `ANSWER_TOO_LARGE` if the sessions exceed the answer budget
 */
export async function listSessionsByIds(
  { database }: Ports,
  { caller: { tenantId } }: TenantRequest,
  ids: readonly number[],
): Promise<Session[]> {
  const sessions = await database.transact(tenantId, (db) => sessionStore(db).listByIds(ids));
  const byId = new Map(sessions.map((session) => [session.id, session]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/**
 * Sums the usage of all sessions of a customer, including active ones. @throws DomainError `invalid` if the customer's identifier is
 * malformed
 */
export async function customerUsage(
  { database, lookUpQueue }: Ports,
  { caller: { tenantId }, signal }: TenantRequest,
  args: QueryCustomerUsageSummaryArgs,
): Promise<CustomerUsageSummaryDto> {
  const { externalCustomerId } = parseInput(customer, args, '');
  const sum = () => database.read(tenantId, (db) => sessionStore(db).usageOfCustomer(externalCustomerId));
  const usage = await lookUpQueue(tenantId, sum, signal);
  const { tokensIn, tokensOut } = usage;
  // The schema's integers have 32 bits.
  return {
    externalCustomerId,
    ...usage,
    tokensIn: Math.min(tokensIn, maxInt),
    tokensOut: Math.min(tokensOut, maxInt),
  };
}
