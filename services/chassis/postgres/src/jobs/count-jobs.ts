import type { Database } from '../database/types.ts';

/** Beyond it jobs of one kind and state are not counted: a scrape of metrics must not read a table of millions. */
const maxCounted = 10_000;

export interface JobCount {
  kind: string;
  state: 'waiting' | 'running';
  count: number;
}

/** How many jobs are due, of all tenants and processes: those that wait for a process, and those that one runs. */
export function countJobs(database: Database, kinds: string[]): Promise<JobCount[]> {
  return database.transactShared(async ({ knex }) => {
    const counted = (condition: string) => `(select count(*)::integer
      from (select from jobs where kind = kinds.kind and ${condition} limit :maxCounted) as due)`;
    // Prepared while the table was small, it would read all of a large one.
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
