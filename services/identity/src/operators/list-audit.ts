import type { CallerRequest } from '@parley/kernel/caller-request';
import { parseInput } from '@parley/kernel/input';
import type { ListAuditRequest } from '@parley/protos/parley/identity/v1/admin';
import { z } from 'zod';
import type { Ports } from '../ports.ts';
import { type AuditEntry, auditStore } from './audit-store.ts';
import { operatorOf } from './operator.ts';
import { first, id, type Paged, paged, place } from './page.ts';

const auditFilter = z.object({ tenant: id, user: id, first, before: place });

export async function listAudit(
  { database }: Ports,
  { caller }: CallerRequest,
  input: ListAuditRequest,
): Promise<Paged<AuditEntry>> {
  operatorOf(caller);
  const { tenant: tenantId, user: userId, first, before } = parseInput(auditFilter, input, '');
  const listing = { tenantId, userId, before, limit: first + 1 };
  return paged(await database.transactShared((db) => auditStore(db).list(listing)), first);
}
