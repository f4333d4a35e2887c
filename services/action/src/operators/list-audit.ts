import type { Caller } from '@parley/kernel/caller';
import { parseInput, rule } from '@parley/kernel/input';
import type { ListAuditRequest } from '@parley/protos/parley/action/v1/admin';
import { z } from 'zod';
import type { Ports } from '../ports.ts';
import { type AuditEntry, listEntries, operatorOf } from './operator-audit.ts';

const usual = 50;
const maxEntries = 200;

const page = z.object({
  tenant: z.int32().optional(),
  first: z
    .int32()
    .check(rule((value) => (value < 0 || value > maxEntries ? `must be between 0 and ${maxEntries}` : undefined)))
    .transform((value) => value || usual),
  before: z.int32().check(rule((value) => (value < 0 ? 'must not be negative' : undefined))),
});

/** Lists audit entries, newest first. @returns `next`: the id of the last returned entry, if there are more entries */
export async function listAudit(
  { database }: Pick<Ports, 'database'>,
  caller: Caller,
  request: ListAuditRequest,
): Promise<{ rows: AuditEntry[]; next: number | undefined }> {
  operatorOf(caller);
  const { tenant: tenantId, first, before } = parseInput(page, request, '');
  const rows = await database.transactShared((db) => listEntries(db, { tenantId, before, limit: first + 1 }));
  return { rows: rows.slice(0, first), next: rows.length > first ? rows[first - 1]?.id : undefined };
}
