import { compareEventIds, type EventId } from '../event-log/event-id.ts';
import type { LiveEvent, LogItem, ObsoleteFilter } from './live-events.ts';

/** Finds a page of the stream's lasting events in the database, after one id and up to another, in order. */
export type FindLasting<Event> = (range: { after: EventId; upTo: EventId }) => Promise<Event[]>;

export type EventSequence<Event extends LiveEvent, Note> = ReturnType<typeof eventSequence<Event, Note>>;

/**
 * The events for one reader, from the log and the database: each once, in the order of their ids. `start` is the last id that the reader
 * has. Up to `lastingId` the database may have events that the log does not have. Above it, the database is needed only if an id was
 * reserved and its event did not arrive.
 */
export function eventSequence<Event extends LiveEvent, Note>(
  start: EventId,
  lastingId: EventId,
  find: FindLasting<Event>,
  obsolete: ObsoleteFilter<Event, Note>,
) {
  let last = start;
  let unread = lastingId;
  let reserved: EventId[] = [];
  let found: Event[] = [];

  function show(event: Event): Event {
    last = event.eventId;
    reserved = reserved.filter((id) => compareEventIds(id, last) > 0);
    obsolete.onShown(event);
    return event;
  }

  /** Yields events of the database up to this id that the reader has not been shown. */
  async function* catchUp(upTo: EventId): AsyncGenerator<Event> {
    for (;;) {
      if (found.length === 0 && compareEventIds(unread, last) > 0) {
        found = await find({ after: last, upTo: unread });
        if (found.length === 0) unread = last;
      }
      const [next] = found;
      if (!next || compareEventIds(next.eventId, upTo) > 0) return;
      found.shift();
      if (compareEventIds(next.eventId, last) > 0) yield show(next);
    }
  }

  /** Extends the range up to a newer id of the database, because the log may have a gap. */
  async function* lookUp(lastingId: EventId): AsyncGenerator<Event> {
    found = [];
    unread = lastingId;
    yield* catchUp(lastingId);
  }

  /** Extends the range up to the newest reserved id, because its event does not arrive. */
  async function* catchUpReserved(): AsyncGenerator<Event> {
    const newest = reserved.at(-1);
    if (newest !== undefined) yield* lookUp(newest);
  }

  return {
    /** Whether an id was reserved and its event has not arrived. */
    get needsCatchUp() {
      return reserved.length > 0;
    },
    catchUp,
    catchUpReserved,
    lookUp,

    /** Yields the events to show after one more item of the log. */
    async *take(item: LogItem<Event, Note>): AsyncGenerator<Event> {
      if (item.kind === 'reserved') {
        if (compareEventIds(item.id, last) <= 0) return;
        reserved.push(item.id);
        if (item.note !== undefined) obsolete.onReserved(item.note);
        return;
      }
      const { event } = item;
      if (compareEventIds(event.eventId, last) <= 0 || obsolete.isObsolete(event)) return;
      // A later event shows that the transaction of the reserved event has ended: the event is in the database, or was rolled back.
      const first = reserved[0];
      if (first !== undefined && compareEventIds(first, event.eventId) < 0) {
        yield* catchUpReserved();
        reserved = reserved.filter((id) => compareEventIds(id, event.eventId) >= 0);
      } else {
        yield* catchUp(event.eventId);
      }
      if (compareEventIds(event.eventId, last) > 0) yield show(event);
    },
  };
}
