import { setTimeout as delay } from 'node:timers/promises';
import type { Caller } from '@parley/chassis/caller';
import { invalid, isDomainError, notFound } from '@parley/chassis/errors';
import { type EventId, parseEventId } from '@parley/chassis/event-log/event-id';
import type { Entry } from '@parley/chassis/event-log/event-log';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import { type EventSequence, eventSequence } from './event-sequence.ts';
import { eventStore } from './event-store.ts';
import type { Ports } from './ports.ts';
import { callerOfSession, parseId } from './session-id.ts';
import { itemOf, streamOf } from './session-log.ts';
import { sessionStore } from './session-store.ts';

export interface WatchSession {
  sessionId: string | number;
  /** The last event id that the reader has; absent for new events only. */
  after?: string | undefined;
  /** Called once whatever happens from then on will be shown. */
  follows?: () => void;
}

const pageSize = 200;
/** How long a reserved event may take before the database is asked, the first time and at most. */
const firstPatienceMs = 1_000;
const longestPatienceMs = 30_000;

/**
 * The events of a session, each once and in order, until `signal` aborts. With `after` first what came after that id: what the
 * log has kept, and of older times the lasting events from the database.
 */
export async function* watchSession(
  ports: Ports,
  caller: Caller,
  { sessionId: given, after, follows }: WatchSession,
  signal: AbortSignal,
): AsyncGenerator<SessionEvent> {
  const { tenantId } = callerOfSession(caller, given);
  const start = after === undefined ? undefined : parseEventId(after);
  if (after !== undefined && start === undefined) throw invalid({ path: 'after', message: 'is no event id' });
  const sessionId = parseId(given);
  if (sessionId === undefined) throw notFound('Session', given);

  const findLast = async () => {
    const session = await ports.database.transact(tenantId, (db) => sessionStore(db).get(sessionId));
    return session.lastEventId;
  };
  if (signal.aborted) return;
  const lastEventId = await findLast();
  if (signal.aborted) return;
  const find = (range: { after: EventId; upTo: EventId }) =>
    ports.database.transact(tenantId, (db) => eventStore(db).list(sessionId, { ...range, limit: pageSize }));
  const sequence = eventSequence(start ?? lastEventId, lastEventId, find);
  const stream = streamOf({ tenantId, id: sessionId });

  const over = new AbortController();
  const ending = AbortSignal.any([signal, over.signal]);
  try {
    let cursor: EventId | 'now' = 'now';
    if (start !== undefined) {
      cursor = start;
      for (let full = true; full && !ending.aborted; ) {
        const { entries } = await ports.eventLog.read(stream, { after: cursor, limit: pageSize });
        yield* show(sequence, entries);
        cursor = entries.at(-1)?.id ?? cursor;
        full = entries.length === pageSize;
      }
      yield* sequence.catchUp(lastEventId);
    }
    const tail = await ports.eventLog.tail(stream, { after: cursor }, ending);
    follows?.();
    yield* follow(ports, sequence, tail, findLast, ending);
  } finally {
    over.abort();
  }
}

async function* show(sequence: EventSequence, entries: Entry[]): AsyncGenerator<SessionEvent> {
  for (const entry of entries) {
    const item = itemOf(entry);
    if (item) yield* sequence.take(item);
  }
}

/**
 * Shows what comes, and looks into the database when a reserved event does not, and when the log was away: an event that was
 * stored meanwhile may be nowhere in it.
 */
async function* follow(
  ports: Ports,
  sequence: EventSequence,
  tail: AsyncIterable<Entry[]>,
  findLast: () => Promise<EventId>,
  signal: AbortSignal,
): AsyncGenerator<SessionEvent> {
  const batches = tail[Symbol.asyncIterator]();
  let next = batches.next();
  next.catch(() => undefined); // told where it is awaited
  let patienceMs = firstPatienceMs;
  let mayLack = false;

  async function* lookUp(): AsyncGenerator<SessionEvent> {
    if (mayLack) yield* sequence.lookUp(await findLast());
    mayLack = false;
    yield* sequence.settle();
  }

  async function* tryToLookUp(): AsyncGenerator<SessionEvent> {
    try {
      yield* lookUp();
    } catch (error) {
      if (!isDomainError(error, 'unavailable')) throw error;
      ports.log.warn({ err: error }, 'a stored event cannot be looked up yet');
    }
  }

  while (!signal.aborted) {
    const isUneasy = sequence.waiting || mayLack;
    const batch = await (isUneasy ? Promise.race([next, pause(patienceMs, signal)]) : next);
    if (batch === undefined) {
      patienceMs = Math.min(patienceMs * 2, longestPatienceMs);
      yield* tryToLookUp();
      continue;
    }
    if (batch.done) return;
    if (batch.value.length === 0) {
      mayLack = true;
      yield* tryToLookUp();
    } else {
      if (mayLack) yield* lookUp(); // nothing later may be shown before
      yield* show(sequence, batch.value);
    }
    if (!sequence.waiting) patienceMs = firstPatienceMs;
    next = batches.next();
    next.catch(() => undefined);
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<undefined> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
}
