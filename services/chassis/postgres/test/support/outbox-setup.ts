import type { Envelope } from '@parley/events/envelope';
import { eventually } from '@parley/testing/eventually';
import type { ExecutionContext } from 'ava';
import { pino } from 'pino';
import type { Database } from '../../src/database/types.ts';
import { outbox } from '../../src/outbox/outbox.ts';
import { type OutboxRelayOptions, outboxRelay } from '../../src/outbox/relay.ts';
import type { RecordingBus } from './recording-bus.ts';

export const silent = pino({ level: 'silent' });
export const numbered = (key: string, number: number) => ({
  topic: 'note-written',
  type: 'note.written.v1',
  key,
  data: new TextEncoder().encode(String(number)),
});
export const numberOf = ({ data }: Envelope) => Number(new TextDecoder().decode(data));
export const numbersOf = (events: Envelope[], key: string) => events.filter((event) => event.key === key).map(numberOf);
export const range = (length: number) => Array.from({ length }, (_, index) => index);
/** Registers the topic of these tests. */
export function publishesNotes<D extends Database>(database: D): D {
  database.registry.topics.set('note-written', ['note.written.v1']);
  return database;
}
export const append = (database: Database, key: string, number: number) =>
  publishesNotes(database).transact(1, (db) => outbox(db).append(numbered(key, number)));
export const waiting = (database: Database): Promise<number> =>
  database.transactShared(async ({ knex }) => (await knex('outbox')).length);

/** Starts a relay, which the test's teardown stops. */
export async function startRelay(
  t: ExecutionContext,
  database: Database,
  bus: RecordingBus,
  options: Partial<OutboxRelayOptions> = {},
) {
  // Polling is off by default, so that the relay depends on wake-ups.
  const relay = outboxRelay({ database, bus, log: silent, pollMs: 60_000, firstRetryMs: 10, ...options });
  await relay.start();
  t.teardown(() => relay.stop());
  return relay;
}

/** Resolves when the outbox is empty. */
export async function emptied(database: Database): Promise<void> {
  await eventually('the outbox is empty', async () => (await waiting(database)) === 0);
}
