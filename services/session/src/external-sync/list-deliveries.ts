import type { TenantRequest } from '@parley/kernel/caller-request';
import { between, parseInput, rule } from '@parley/kernel/input';
import { parseId } from '@parley/kernel/row-id';
import { z } from 'zod';
import type { QueryExternalSyncDeliveriesArgs } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import type { SyncDelivery } from './sync-delivery.ts';
import { syncDeliveryStore } from './sync-delivery-store.ts';

const usual = 50;
const maxDeliveries = 100;

const page = z.object({
  agentId: z.int(),
  first: between(1, maxDeliveries).nullish(),
  after: z
    .string()
    .check(rule((id) => (parseId(id) === undefined ? 'must be the id of a delivery' : undefined)))
    .nullish(),
});

/**
 * Lists an agent's deliveries, newest first. The list is empty if the agent does not exist or belongs to another tenant. @throws
 * DomainError `invalid` if an argument is invalid
 */
export async function listDeliveries(
  { database, sync }: Pick<Ports, 'database' | 'sync'>,
  { caller }: TenantRequest,
  args: QueryExternalSyncDeliveriesArgs,
): Promise<SyncDelivery[]> {
  const { agentId, first, after } = parseInput(page, args, '');
  if (parseId(agentId) === undefined) return [];
  const before = after === null || after === undefined ? undefined : parseId(after);
  const filter = { agentId, first: first ?? usual, before };
  return database.transact(caller.tenantId, (db) => syncDeliveryStore(db).list(filter, sync.settings.logDays));
}
