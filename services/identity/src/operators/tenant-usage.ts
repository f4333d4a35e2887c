import type { CallerRequest } from '@parley/kernel/caller-request';
import { wholeRowsDatabase } from '@parley/postgres/database/answer-database';
import type { Ports } from '../ports.ts';
import { type UsageCount, type UsageMonth, usageStore } from '../spend/usage-store.ts';
import { directoryStore } from './directory-store.ts';
import { operatorOf } from './operator.ts';

export interface TenantUsage {
  /** The monthly spend cap; undefined for a deleted tenant. */
  capUsd: number | undefined;
  months: UsageMonth[];
  counts: UsageCount[];
}

/** @throws DomainError `notFound` if the tenant does not exist */
export async function tenantUsage(
  { database, settings }: Ports,
  { caller }: CallerRequest,
  { tenantId }: { tenantId: number },
): Promise<TenantUsage> {
  operatorOf(caller);
  await database.transactShared((db) => directoryStore(db).getTenant(tenantId));
  return wholeRowsDatabase(database).transact(tenantId, async (db) => {
    const usage = usageStore(db);
    const spend = await usage.findMonthlySpend(settings);
    return { capUsd: spend?.capUsd, months: await usage.listMonths(), counts: await usage.listCounts() };
  });
}
