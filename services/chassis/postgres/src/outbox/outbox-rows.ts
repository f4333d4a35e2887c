import type { Envelope } from '@parley/events/envelope';
import type { Database, SharedDb } from '../database/types.ts';

/** A row of the outbox that a relay has claimed. */
export interface ClaimedEvent {
  /** The primary key. Events of one topic and key are published in the order of their positions. */
  position: number;
  /** Number of failed attempts to publish the event. */
  attempts: number;
  envelope: Envelope;
}

/** The results that a relay writes, and the claims that it requests. Rows are identified by position. */
export interface OutboxExchange {
  relayId: string;
  /** How long a claim lasts, in ms; the relay renews the claim before it ends. */
  claimMs: number;
  /** Published rows, to be deleted. */
  published: number[];
  /** Failed rows. They are released, but no relay claims them or later rows of their key during `delayMs`. */
  failed: { position: number; delayMs: number }[];
  /** Rows that are still being published; their claim is renewed. */
  held: number[];
  /** Maximum number of rows to claim; 0 claims none. */
  limit: number;
}

type OutboxRow = Pick<ClaimedEvent, 'position' | 'attempts'> &
  Omit<Envelope, 'source' | 'traceparent'> & { traceparent: string | null };

/** Records published and failed rows and claims the next rows, in order, in one short transaction. */
export async function exchange(database: Database, request: OutboxExchange): Promise<ClaimedEvent[]> {
  const { published, failed, held, limit } = request;
  if (published.length + failed.length + held.length + limit === 0) return [];
  return database.transactShared(async (db) => {
    await recordResults(db, request);
    return limit > 0 ? await claim(db, database.name, request) : [];
  });
}

/** Returns the age of the oldest event that waits to be published, in ms; 0 when no event waits. */
export function oldestEventAgeMs(database: Database): Promise<number> {
  return database.transactShared(async ({ knex }) => {
    const { rows } = await knex.raw(
      `SELECT (extract(epoch FROM parley_now() - created_at) * 1000)::float8 AS age FROM outbox ORDER BY position LIMIT 1`,
    );
    return Math.max(0, rows[0]?.age ?? 0);
  });
}

/** Releases the claims of all relays. Call it only at a start, while no other relay can be running. */
export async function releaseAllClaims(database: Database): Promise<void> {
  await database.transactShared(({ knex }) =>
    knex.raw('UPDATE outbox SET claimed_by = NULL, claimed_until = NULL WHERE claimed_until IS NOT NULL'),
  );
}

async function recordResults(
  { knex }: SharedDb,
  { relayId, claimMs, published, failed, held }: OutboxExchange,
): Promise<void> {
  // Published rows are deleted even if another relay has claimed them meanwhile.
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
 * Claims the earliest rows of all keys that have no claimed row, so that each key is published in order. An advisory lock lets one relay
 * claim at a time, because two concurrent relays would not see each other's claims. All rows are compared with one point in time, because
 * `parley_now()` advances within a statement: a claim that expired during the statement would exclude the first rows of its key but not the
 * later ones.
 *
 * The query makes one look-up per row, in order, until the limit. With NOT EXISTS the planner may read and sort all rows, and without CASE
 * the planner assumes that nearly all keys are claimed.
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
         WHERE CASE WHEN (SELECT held.position FROM outbox AS held WHERE held.topic = waiting.topic AND held.key = waiting.key
                             AND held.claimed_until > (SELECT now FROM moment) LIMIT 1) IS NULL THEN true ELSE false END
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
