import type { Envelope } from '@parley/events/envelope';
import type { Database, SharedDb } from '../database/types.ts';

/** A row of the outbox that a relay holds. */
export interface ClaimedEvent {
  /** Where it stands in the outbox; the order of publishing within a key. */
  position: number;
  /** How often publishing it has failed. */
  attempts: number;
  envelope: Envelope;
}

/** What a relay has to say to the outbox, and what it wants. Rows are named by position. */
export interface OutboxExchange {
  relayId: string;
  /** How long a claim lasts, in ms; whoever holds one renews it in time. */
  claimMs: number;
  /** Done with: deleted. */
  published: number[];
  /** Given back; nobody takes them, or later ones of their key, for so many ms. */
  failed: { position: number; delayMs: number }[];
  /** Still being published, and their claim is to be renewed. */
  held: number[];
  /** How many rows to take at most; 0 takes none. */
  limit: number;
}

type OutboxRow = Pick<ClaimedEvent, 'position' | 'attempts'> &
  Omit<Envelope, 'source' | 'traceparent'> & { traceparent: string | null };

/** One short transaction: settles what was published or failed, and takes what comes next, in order. */
export async function exchange(database: Database, request: OutboxExchange): Promise<ClaimedEvent[]> {
  const { published, failed, held, limit } = request;
  if (published.length + failed.length + held.length + limit === 0) return [];
  return database.transactShared(async (db) => {
    await settle(db, request);
    return limit > 0 ? await claim(db, database.name, request) : [];
  });
}

/** The age of the oldest event that waits to be published, in ms; 0 when none does. */
export function oldestEventAgeMs(database: Database): Promise<number> {
  return database.transactShared(async ({ knex }) => {
    const { rows } = await knex.raw(
      `SELECT (extract(epoch FROM parley_now() - created_at) * 1000)::float8 AS age FROM outbox ORDER BY position LIMIT 1`,
    );
    return Math.max(0, rows[0]?.age ?? 0);
  });
}

/** Frees all rows, whoever holds them: for a start of which is known that nobody alive does. */
export async function voidClaims(database: Database): Promise<void> {
  await database.transactShared(({ knex }) =>
    knex.raw('UPDATE outbox SET claimed_by = NULL, claimed_until = NULL WHERE claimed_until IS NOT NULL'),
  );
}

async function settle(
  { knex }: SharedDb,
  { relayId, claimMs, published, failed, held }: OutboxExchange,
): Promise<void> {
  // Whoever else has claimed it meanwhile: what is published is published.
  if (published.length > 0) await knex.raw(`DELETE FROM outbox WHERE position = ANY(?::bigint[])`, [published]);
  if (failed.length > 0) {
    await knex.raw(
      `UPDATE outbox SET claimed_by = NULL, attempts = attempts + 1,
              claimed_until = parley_now() + delay_ms * interval '1 millisecond'
         FROM unnest(?::bigint[], ?::int[]) AS failed (at, delay_ms) WHERE position = at AND claimed_by = ?`,
      [failed.map(({ position }) => position), failed.map(({ delayMs }) => Math.round(delayMs)), relayId],
    );
  }
  if (held.length > 0) {
    await knex.raw(
      `UPDATE outbox SET claimed_until = parley_now() + ? * interval '1 millisecond'
        WHERE position = ANY(?::bigint[]) AND claimed_by = ?`,
      [claimMs, held, relayId],
    );
  }
}

/**
 * A key of which any row is held, by whomever and for whatever reason, is left alone as a whole. Of all others the
 * earliest rows are taken, so that each key's part is a beginning of its queue. One relay claims at a time: two that
 * looked at once would each miss the other's claim. All rows are judged by one moment: the clock goes on within a
 * statement, and a claim that ran out in between would hold back the first rows of its key and no longer the later ones.
 */
async function claim(
  { knex }: SharedDb,
  source: string,
  { relayId, claimMs, limit }: OutboxExchange,
): Promise<ClaimedEvent[]> {
  await knex.raw(`SELECT pg_advisory_xact_lock(hashtext('parley outbox'), hashtext(current_schema()))`);
  const { rows }: { rows: OutboxRow[] } = await knex.raw(
    `WITH moment AS MATERIALIZED (SELECT parley_now() AS now)
     UPDATE outbox SET claimed_by = ?, claimed_until = moment.now + ? * interval '1 millisecond'
       FROM moment
      WHERE position IN (
        SELECT waiting.position FROM outbox AS waiting
         WHERE NOT EXISTS (SELECT FROM outbox AS held WHERE held.topic = waiting.topic AND held.key = waiting.key
                                                        AND held.claimed_until > (SELECT now FROM moment))
         ORDER BY waiting.position LIMIT ?)
     RETURNING position, attempts, id, topic, type, key, tenant_id, created_at AS time, data, traceparent`,
    [relayId, claimMs, limit],
  );
  return rows
    .map(({ position, attempts, traceparent, ...envelope }) => ({
      position,
      attempts,
      envelope: { ...envelope, source, ...(traceparent !== null && { traceparent }) },
    }))
    .sort((a, b) => a.position - b.position);
}
