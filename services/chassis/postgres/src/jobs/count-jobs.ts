import type { Database } from '../database/types.ts';

/** Maximum count per kind and state, because a scrape of metrics must not read a table of millions of rows. */
const maxCounted = 10_000;

export interface JobCount {
  kind: string;
  state: 'waiting' | 'running';
  count: number;
}

/** Counts due jobs of all tenants: jobs that wait for a process, and jobs that a process runs. */
export function countJobs(database: Database, kinds: string[]): Promise<JobCount[]> {
  return database.transactShared(async ({ knex }) => {
    const counted = (condition: string) => `(select count(*)::integer
      from (select from jobs where kind = kinds.kind and ${condition} limit :maxCounted) as due)`;
    // A plan that was prepared while the table was small would read the whole table later.
    await knex.raw(`select set_config('enable_seqscan', 'off', true)`);
    const { rows } = await knex.raw(
      `select kind, state, count from unnest(cast(:kinds as text[])) as kinds (kind), lateral (values
         ('waiting', ${counted(`state = 'queued' and run_at <= parley_now()`)}),
         ('running', ${counted(`state = 'running'`)})) as counts (state, count)`,
      { kinds, maxCounted },
    );
    return rows;
  });
}
