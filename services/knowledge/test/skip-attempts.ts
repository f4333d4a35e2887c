import type { Database } from '@parley/postgres/database/types';

/**
 * Sets the number of attempts of a job that has failed once and waits for its retry, and makes the retry due at once.
 * @returns false if there is no such job
 */
export async function skipAttempts(database: Database, kind: string, attempts: number): Promise<boolean> {
  const { rowCount } = await database.transactShared(({ knex }) =>
    knex.raw(`UPDATE jobs SET attempt = ?, run_at = parley_now() WHERE kind = ? AND state = 'queued' AND attempt = 1`, [
      attempts,
      kind,
    ]),
  );
  return rowCount === 1;
}

/**
 * Sets the recorded number of one kind of failure of a job. The job must have had this failure once and wait for its retry, which becomes
 * due at once.
 * @returns false if there is no such job
 */
export async function skipFailures(database: Database, kind: string, failure: string, count: number): Promise<boolean> {
  const { rowCount } = await database.transactShared(({ knex }) =>
    knex.raw(
      `UPDATE jobs SET payload = jsonb_set(payload, ARRAY['failures', ?::text], to_jsonb(?::integer)), run_at = parley_now()
        WHERE kind = ? AND state = 'queued' AND payload->'failures'->>? = '1'`,
      [failure, count, kind, failure],
    ),
  );
  return rowCount === 1;
}
