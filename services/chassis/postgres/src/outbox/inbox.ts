import { rememberedDays } from '@parley/events/topics';
import type { Database, Transaction } from '../database/types.ts';

/** Maximum number of inbox marks that one transaction deletes, so that the transaction is short. */
export const purgeBatchSize = 5_000;

/**
 * Runs `effect` unless `consumer` has already handled this event; resolves to true if `effect` ran. The mark of the event commits with the
 * effect. A concurrent second delivery waits until the first has committed (and then runs nothing) or rolled back (and then runs the effect
 * itself).
 */
export async function once(
  db: Transaction & { tenantId?: number },
  consumer: string,
  eventId: string,
  effect: () => Promise<unknown>,
): Promise<boolean> {
  const { rows } = await db.knex.raw(
    `INSERT INTO inbox (consumer, event_id, tenant_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1`,
    [consumer, eventId, db.tenantId ?? null],
  );
  if (rows.length === 0) return false;
  await effect();
  return true;
}

/**
 * Deletes up to `purgeBatchSize` marks that are so old that their events are not delivered again.
 * @returns the number of deleted marks; if it equals the maximum, there may be more
 */
export async function purgeInbox(database: Database): Promise<number> {
  return database.transactShared(async ({ knex }) => {
    const { rowCount } = await knex.raw(
      `DELETE FROM inbox WHERE ctid IN (
         SELECT ctid FROM inbox WHERE taken_at < parley_now() - interval '${rememberedDays} days' LIMIT ${purgeBatchSize})`,
    );
    return rowCount;
  });
}
