import type { Part } from '@parley/kernel/processes/unit';
import type { Logger } from '@parley/kernel/telemetry/log';
import { repeated } from '@parley/kernel/timing/repeated';
import type { Ports } from '../ports.ts';

/**
 * Settles all reservations with an expired lease, including those of suspended and deleted tenants. Several replicas may do this at the
 * same time.
 */
export async function settleLapsedSpend({ database, ledger }: Ports): Promise<number> {
  const tenantIds = await database.transactShared<number[]>(({ knex }) =>
    knex('usage_reservations').where('leaseUntil', '<=', knex.raw('parley_now()')).distinct().pluck('tenantId'),
  );
  let settled = 0;
  const failures: unknown[] = [];
  for (const tenantId of tenantIds) {
    try {
      for (let count = await ledger.settleLapsed(tenantId); count > 0; count = await ledger.settleLapsed(tenantId)) {
        settled += count;
      }
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return settled;
}

const longestPauseMs = 10_000;

export function spendLeases(ports: Ports, log: Pick<Logger, 'warn'>): Part {
  const pauseMs = Math.min(longestPauseMs, ports.settings.spendLeaseMs / 3);
  return repeated({ name: 'spend leases', pauseMs, failure: 'ended leases not settled; will retry', log }, async () => {
    const calls = await settleLapsedSpend(ports);
    if (calls > 0) log.warn({ calls }, 'calls of gone callers settled');
  });
}
