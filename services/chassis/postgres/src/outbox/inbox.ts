import { rememberedDays } from '@parley/events/topics';
import type { Database, Transaction } from '../database/types.ts';

/** Maximum number of marks that one transaction deletes, so that the transaction is short. */
export const purgeBatchSize = 5_000;

/**
 * Runs `effect` unless `consumer` has already handled this event; resolves to true if it ran. The mark commits with the effect. A
 * concurrent second delivery waits until the first has committed (and then runs nothing) or rolled back (and then runs the effect itself).
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
 * Deletes up to `purgeBatchSize` marks that are older than any redelivery.
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
