import type { TenantRequest } from '@parley/kernel/caller-request';
import { notFound } from '@parley/kernel/errors';
import type { Ports } from '../ports.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import { type MonthlySpend, type UsageCount, usageStore } from './usage-store.ts';

/** Returns the tenant's usage this month. Reads stored totals only, so the cost does not grow with the number of calls. */
export async function apiUsageSummary({ database, settings }: Ports, { caller }: TenantRequest): Promise<MonthlySpend> {
  const { tenantId } = signedIn(caller);
  const spend = await database.read(tenantId, (db) => usageStore(db).findMonthlySpend(settings));
  if (!spend) throw notFound('Tenant', tenantId);
  return spend;
}

/**
 * Returns call counts by model and operation, highest first.
 * @throws DomainError `invalid` with `ANSWER_TOO_LARGE` if the counts exceed the answer budget
 */
export async function apiUsageBreakdown({ database }: Ports, { caller }: TenantRequest): Promise<UsageCount[]> {
  const { tenantId } = signedIn(caller);
  return database.transact(tenantId, (db) => usageStore(db).listCounts());
}
