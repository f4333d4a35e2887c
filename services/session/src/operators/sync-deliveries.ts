import type { CallerRequest } from '@parley/kernel/caller-request';
import { parseInput, rule } from '@parley/kernel/input';
import { requireId } from '@parley/kernel/row-id';
import { wholeRowsDatabase } from '@parley/postgres/database/answer-database';
import { jobs } from '@parley/postgres/jobs/jobs';
import type { ListSyncDeliveriesRequest, RedeliverSyncRequest } from '@parley/protos/parley/session/v1/admin';
import { z } from 'zod';
import type { SyncDelivery, SyncStatus } from '../external-sync/sync-delivery.ts';
import { syncDeliveryStore } from '../external-sync/sync-delivery-store.ts';
import { appendSync, syncKind } from '../external-sync/sync-job.ts';
import type { Ports } from '../ports.ts';
import { knownTenant } from './known-tenant.ts';
import { audit } from './operator-audit.ts';

/** Answer budget in bytes. It is larger than the largest possible answer, so it is never exceeded. */
const maxAnswerBytes = 1_000_000;

const usual = 50;
const maxDeliveries = 200;
const statuses: readonly string[] = ['', 'PENDING', 'DELIVERED', 'FAILED'] satisfies (SyncStatus | '')[];

const page = z.object({
  tenantId: z.int32(),
  agent: z.int32().optional(),
  status: z
    .string()
    .check(rule((value) => (statuses.includes(value) ? undefined : 'must be PENDING, DELIVERED or FAILED')))
    .transform((value) => (value || undefined) as SyncStatus | undefined),
  first: z
    .int32()
    .check(rule((value) => (value < 0 || value > maxDeliveries ? `must be between 0 and ${maxDeliveries}` : undefined)))
    .transform((value) => value || usual),
  before: z
    .int32()
    .check(rule((value) => (value < 0 ? 'must not be negative' : undefined)))
    .transform((value) => value || undefined),
});

/**
 * Lists deliveries, newest first.
 * @returns `next`: the id of the last delivery that is returned, if more deliveries follow
 * @throws DomainError `invalid` if the input is invalid; `notFound` if the tenant does not exist
 */
export async function listSyncDeliveries(
  ports: Ports,
  request: CallerRequest,
  input: ListSyncDeliveriesRequest,
): Promise<{ rows: SyncDelivery[]; next: number | undefined }> {
  await knownTenant(ports, request, input.tenantId);
  const { tenantId, agent: agentId, status, first, before } = parseInput(page, input, '');
  const filter = { agentId, status, before, first: first + 1 };
  const rows = await wholeRowsDatabase(ports.database, maxAnswerBytes).transact(tenantId, (db) =>
    syncDeliveryStore(db).list(filter, ports.sync.settings.logDays),
  );
  return { rows: rows.slice(0, first), next: rows.length > first ? rows[first - 1]?.id : undefined };
}

/**
 * Sends a delivery again, whatever its status. If an attempt is running, the delivery is sent again only if that attempt fails.
 * @throws DomainError `notFound` if the tenant or the delivery does not exist
 */
export async function redeliverSync(
  ports: Ports,
  request: CallerRequest,
  { tenantId, deliveryId }: RedeliverSyncRequest,
): Promise<SyncDelivery> {
  await knownTenant(ports, request, tenantId);
  const id = requireId('Delivery', deliveryId);
  return ports.database.transact(tenantId, async (db) => {
    const store = syncDeliveryStore(db);
    const { agentId, sessionId, status, attempts } = await store.lock(id);
    const restarted = await store.restart(id, ports.sync.settings.giveUpMs);
    await audit(db, request.caller, { action: 'redeliver', facts: { delivery: id, sessionId, status, attempts } });
    // The new job replaces the job that waits for a later attempt.
    await jobs(db).removeQueued(syncKind, String(sessionId));
    await appendSync(db, { sessionId, agentId });
    return restarted;
  });
}
