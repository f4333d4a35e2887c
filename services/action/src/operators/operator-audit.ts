import type { Caller } from '@parley/kernel/caller';
import { forbidden } from '@parley/kernel/errors';
import { textProblem } from '@parley/kernel/input';
import type { SharedDb, TenantDb } from '@parley/postgres/database/types';

export interface AuditEntry {
  id: number;
  at: Date;
  operator: string;
  action: string;
  tenantId: number;
  facts: Record<string, unknown>;
  requestId: string;
}

/**
 * Returns the name of the calling operator.
 * @throws DomainError `forbidden` with `OPERATOR_ONLY` if the caller is not an operator
 */
export function operatorOf({ kind, displayName = '' }: Caller): string {
  if (kind !== 'operator') throw forbidden('Only operators of this platform may do this', 'OPERATOR_ONLY');
  const problem = textProblem(displayName, 100);
  if (problem) throw forbidden(`The name of an operator ${problem}`, 'OPERATOR_ONLY');
  return displayName;
}

/** Adds an audit entry in the same transaction as the change. */
export async function audit(
  { knex, tenantId }: TenantDb,
  caller: Caller,
  { action, facts }: Pick<AuditEntry, 'action' | 'facts'>,
): Promise<void> {
  const entry = { operator: operatorOf(caller), action, tenantId, requestId: caller.requestId };
  await knex('operator_audit').insert({ ...entry, facts: JSON.stringify(facts) });
}

export async function listEntries(
  { knex }: Pick<SharedDb, 'knex'>,
  { tenantId, before, limit }: { tenantId: number | undefined; before: number; limit: number },
): Promise<AuditEntry[]> {
  const entries = knex<AuditEntry>('operator_audit').orderBy('id', 'desc').limit(limit);
  if (tenantId !== undefined) void entries.where({ tenantId });
  if (before > 0) void entries.where('id', '<', before);
  return entries;
}
