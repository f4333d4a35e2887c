import type { Caller } from '@parley/kernel/caller';
import { notFound } from '@parley/kernel/errors';
import type { Ports } from './ports.ts';
import { signedInToTenant } from './signed-in.ts';
import { type MonthlySpend, type UsageCount, usageStore } from './usage-store.ts';

/** Reads totals only, however many calls there were. */
export async function apiUsageSummary({ database, settings }: Ports, caller: Caller): Promise<MonthlySpend> {
  const { tenantId } = signedInToTenant(caller);
  const spend = await database.read(tenantId, (db) => usageStore(db).findMonthlySpend(settings));
  if (!spend) throw notFound('Tenant', tenantId);
  return spend;
}

/** Most calls first. @throws DomainError `invalid` with `ANSWER_TOO_LARGE` */
export async function apiUsageBreakdown({ database }: Ports, caller: Caller): Promise<UsageCount[]> {
  const { tenantId } = signedInToTenant(caller);
  return database.transact(tenantId, (db) => usageStore(db).listCounts());
}
