import type { TenantRequest } from '@parley/kernel/caller-request';
import { between, parseInput, rule } from '@parley/kernel/input';
import { parseId } from '@parley/kernel/row-id';
import { z } from 'zod';
import type { QueryOutboundCallsArgs } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import type { OutboundCall } from './outbound-call.ts';
import { outboundCallStore } from './outbound-call-store.ts';

const usual = 50;
const maxCalls = 100;

const page = z.object({
  first: between(1, maxCalls).nullish(),
  after: z
    .string()
    .check(rule((id) => (parseId(id) === undefined ? 'must be the id of a call' : undefined)))
    .nullish(),
});

/** Lists calls, newest first. @throws DomainError `invalid` for an invalid page size or cursor */
export async function listOutboundCalls(
  { database, limits }: Pick<Ports, 'database' | 'limits'>,
  { caller }: TenantRequest,
  args: QueryOutboundCallsArgs,
): Promise<OutboundCall[]> {
  const { first, after } = parseInput(page, args, '');
  const before = after === null || after === undefined ? undefined : parseId(after);
  return database.transact(caller.tenantId, (db) => outboundCallStore(db).list(first ?? usual, before, limits.logDays));
}
