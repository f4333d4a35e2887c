import { rowsBy } from '@parley/postgres/database/rows';
import type { SharedDb } from '@parley/postgres/database/types';
import { currentMonth } from './usage-sql.ts';

/** Reads totals over all tenants. */
export function platformStore({ knex }: SharedDb) {
  return {
    /** Cost of model calls this month, including reservations of calls in flight, in USD. */
    async monthlySpendUsd(): Promise<number> {
      const [month] = await rowsBy(knex)<{ spentUsd: number }>(
        `SELECT cast(coalesce(sum(spent_usd + reserved_usd), 0) AS float8) AS spent_usd
           FROM platform_months WHERE month = ${currentMonth}`,
        {},
      );
      return month?.spentUsd ?? 0;
    },
  };
}
