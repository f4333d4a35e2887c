import { rowsBy } from '@parley/postgres/database/rows';
import type { SharedDb } from '@parley/postgres/database/types';
import { currentMonth } from './usage-sql.ts';

/** What all tenants have together. */
export function platformStore({ knex }: SharedDb) {
  return {
    /** What calls of models have cost this month, with what is reserved for those under way, in USD. */
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
