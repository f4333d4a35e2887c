import { rememberedDays } from '@parley/events/topics';
import type { Database, Transaction } from '../database/types.ts';

/** How many marks one transaction forgets, so that it is a short one. */
export const purgedAtOnce = 5_000;

/**
 * Runs `effect` unless `consumer` has taken this event before, and answers whether it did. The mark commits with the
 * effect. A second delivery at the same time waits here until the first has committed (and then runs nothing) or
 * rolled back (and then runs the effect itself).
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
 * Forgets events that were taken longer ago than any bus delivers them again, at most `purgedAtOnce`, and answers how
 * many: if it is that many, there may be more.
 */
export async function purgeInbox(database: Database): Promise<number> {
  return database.transactShared(async ({ knex }) => {
    const { rowCount } = await knex.raw(
      `DELETE FROM inbox WHERE ctid IN (
         SELECT ctid FROM inbox WHERE taken_at < parley_now() - interval '${rememberedDays} days' LIMIT ${purgedAtOnce})`,
    );
    return rowCount;
  });
}
