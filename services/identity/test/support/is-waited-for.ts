import { eventually } from '@parley/testing/eventually';
import { defaultEngine } from '@parley/testing/test-database';
import type { Knex } from 'knex';

/**
 * Waits until another transaction waits for a lock of this transaction. Returns at once on PGlite, which runs transactions one after
 * another, so that none waits for a lock.
 */
export async function isWaitedFor(knex: Knex.Transaction): Promise<void> {
  if (defaultEngine() !== 'server') return;
  await eventually('another transaction waits for the lock', async () => {
    const { rows } = await knex.raw(
      'select exists (select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))) as waited',
    );
    return rows[0].waited;
  });
}
