import type { Database } from '@parley/postgres/database/types';
import { requestOf } from '@parley/testing/request-of';
import { testSchema } from '@parley/testing/test-schema';
import test from 'ava';
import { streamTranscript } from '../src/read-sessions.ts';
import { sessionSchema } from '../src/session-schema.ts';
import { inTenant, oneAtATime } from './session-mesh.ts';

/** Inserts an ended session with messages of these lengths. */
async function insertEndedSession(database: Database, lengths: number[]): Promise<number> {
  return database.transact(1, async ({ knex }) => {
    const { rows } = await knex.raw(
      `INSERT INTO sessions (tenant_id, agent_id, status, client_external_id) VALUES (1, 1, 'ENDED', 'x') RETURNING id`,
    );
    await knex.raw(
      `INSERT INTO messages (tenant_id, session_id, role, text, turn_index, exchange_index, token_estimate)
       SELECT 1, :sessionId, CASE n % 2 WHEN 1 THEN 'USER' ELSE 'MODEL' END, repeat('x', length), n - 1, n - 1, 1
         FROM unnest(cast(:lengths AS integer[])) WITH ORDINALITY AS given (length, n)`,
      { sessionId: rows[0].id, lengths },
    );
    return rows[0].id as number;
  });
}

test('a transcript of any length is streamed in parts that join to the whole', async (t) => {
  const database = await oneAtATime(() => testSchema(t, sessionSchema));
  const read = async (lengths: number[], partBytes: number) => {
    const id = await insertEndedSession(database, lengths);
    const parts: number[][] = [];
    const indexes: number[] = [];
    for await (const lines of streamTranscript({ database }, requestOf(inTenant(1)), { sessionId: id, partBytes })) {
      parts.push(lines.map(({ text }) => text.length));
      indexes.push(...lines.map(({ turnIndex }) => turnIndex));
    }
    t.deepEqual(parts.flat(), lengths);
    t.deepEqual(
      indexes,
      lengths.map((_, at) => at),
    );
    return parts;
  };
  // The size of a message is the bytes of its text plus 100.
  t.deepEqual(await read([900, 900, 900, 900, 900], 2_000), [[900, 900], [900, 900], [900]]);
  t.deepEqual(
    await read([10, 50_000, 10, 10], 2_000),
    [
      [10, 50_000],
      [10, 10],
    ],
    'one message above the size of a part',
  );
  t.deepEqual(await read([50_000, 50_000], 1), [[50_000], [50_000]]);
  t.deepEqual(await read([], 2_000), []);
  const many = await read(
    Array.from({ length: 4_500 }, () => 1),
    10_000_000,
  );
  t.deepEqual(
    many.map(({ length }) => length),
    [2_000, 2_000, 500],
  );
});

test('transcripts of another tenant and of absent sessions are not found', async (t) => {
  const database = await oneAtATime(() => testSchema(t, sessionSchema));
  const id = await insertEndedSession(database, [1]);
  for (const [caller, sessionId] of [
    [inTenant(2), id],
    [inTenant(1), id + 1],
    [inTenant(1), -1],
  ] as const) {
    const reading = streamTranscript({ database }, requestOf(caller), { sessionId });
    t.like(await t.throwsAsync(reading.next()), { kind: 'notFound', message: `Session ${sessionId} not found` });
  }
});
