import { invalid, isDomainError } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import { sleep } from '@parley/kernel/timing/timers';
import { type EventId, parseEventId } from '../event-log/event-id.ts';
import type { Entry, EventLog } from '../event-log/event-log.ts';
import { type EventSequence, eventSequence } from './event-sequence.ts';
import { itemOf, type LiveEvent, type LiveEventType } from './live-events.ts';

/** Number of events that are read at a time, from the log and from the database. */
export const eventPageSize = 200;
/** The first wait for a reserved event, in ms; after it the database is queried. Each further wait is twice as long. */
const firstWaitMs = 1_000;
/** Maximum length of a wait for a reserved event, in ms. */
const longestWaitMs = 30_000;

export interface WatchEvents<Event extends LiveEvent, Note> {
  type: LiveEventType<Event, Note>;
  eventLog: EventLog;
  /** The stream's name in the event log. */
  stream: string;
  /** The last id that the reader has; undefined if the reader wants new events only. */
  start: EventId | undefined;
  /** Returns the newest id in the database. Rejects when the reader has no access. */
  findLast(): Promise<EventId>;
  /** Returns up to `eventPageSize` lasting events, in order: those after the id `after`, up to the id `upTo`. */
  findLasting(range: { after: EventId; upTo: EventId }): Promise<Event[]>;
  /** Called as soon as every later event is certain to be delivered. */
  follows?: (() => void) | undefined;
  log: Pick<Logger, 'warn'>;
  /** Fields that identify the stream in warnings, e.g. `sessionId`. */
  logFields: Record<string, unknown>;
}

/** Parses the argument `after` of a subscription field. @throws DomainError `invalid` for a malformed id. */
export function startAfter(after: string | undefined): EventId | undefined {
  if (after === undefined) return undefined;
  const start = parseEventId(after);
  if (start === undefined) throw invalid({ path: 'after', message: 'is no event id' });
  return start;
}

/**
 * Streams events, each once and in order, until `signal` aborts. With `start`, streams the events after that id: first the lasting events
 * that only the database still has, then the log's events.
 */
export async function* watchEvents<Event extends LiveEvent, Note>(
  options: WatchEvents<Event, Note>,
  signal: AbortSignal,
): AsyncGenerator<Event> {
  const { type, eventLog, stream, start, findLast, findLasting, follows } = options;
  if (signal.aborted) return;
  const lastEventId = await findLast();
  if (signal.aborted) return;
  const sequence = eventSequence(start ?? lastEventId, lastEventId, findLasting, type.obsolete());
  const show = (entries: Entry[]) => showAll(type, sequence, entries);

  const ended = new AbortController();
  const endSignal = AbortSignal.any([signal, ended.signal]);
  try {
    let cursor: EventId | 'now' = 'now';
    if (start !== undefined) {
      cursor = start;
      for (let full = true; full && !endSignal.aborted; ) {
        const { entries } = await eventLog.read(stream, { after: cursor, limit: eventPageSize });
        yield* show(entries);
        cursor = entries.at(-1)?.id ?? cursor;
        full = entries.length === eventPageSize;
      }
      yield* sequence.catchUp(lastEventId);
    }
    const tail = await eventLog.tail(stream, { after: cursor }, endSignal);
    follows?.();
    yield* follow(options, sequence, show, tail, endSignal);
  } finally {
    ended.abort();
  }
}

async function* showAll<Event extends LiveEvent, Note>(
  type: LiveEventType<Event, Note>,
  sequence: EventSequence<Event, Note>,
  entries: Entry[],
): AsyncGenerator<Event> {
  for (const entry of entries) {
    const item = itemOf(type, entry);
    if (item) yield* sequence.take(item);
  }
}

/**
 * Shows new events. Queries the database when a reserved event does not arrive, and after an outage of the log, because the log may lack
 * events that were stored during the outage.
 */
async function* follow<Event extends LiveEvent, Note>(
  { findLast, log, logFields }: WatchEvents<Event, Note>,
  sequence: EventSequence<Event, Note>,
  show: (entries: Entry[]) => AsyncGenerator<Event>,
  tail: AsyncIterable<Entry[]>,
  signal: AbortSignal,
): AsyncGenerator<Event> {
  const batches = tail[Symbol.asyncIterator]();
  let next = batches.next();
  next.catch(() => undefined); // the loop below handles the error
  let waitMs = firstWaitMs;
  let mayHaveGap = false;

  async function* lookUp(): AsyncGenerator<Event> {
    if (mayHaveGap) yield* sequence.lookUp(await findLast());
    mayHaveGap = false;
    yield* sequence.catchUpReserved();
  }

  async function* tryLookUp(): AsyncGenerator<Event> {
    try {
      yield* lookUp();
    } catch (error) {
      if (!isDomainError(error, 'unavailable')) throw error;
      log.warn({ err: error, ...logFields }, 'stored event lookup failed; will retry');
    }
  }

  while (!signal.aborted) {
    const isComplete = !sequence.needsCatchUp && !mayHaveGap;
    const batch = await (isComplete ? next : Promise.race([next, sleep(waitMs, signal, { ref: false })]));
    if (!batch) {
      waitMs = Math.min(waitMs * 2, longestWaitMs);
      yield* tryLookUp();
      continue;
    }
    if (batch.done) return;
    if (batch.value.length === 0) {
      mayHaveGap = true;
      yield* tryLookUp();
    } else {
      if (mayHaveGap) yield* lookUp(); // query the database before any later event is shown
      yield* show(batch.value);
    }
    if (!sequence.needsCatchUp) waitMs = firstWaitMs;
    next = batches.next();
    next.catch(() => undefined);
  }
}
