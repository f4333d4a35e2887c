import { compareEventIds, type EventId } from '../event-log/event-id.ts';
import type { LiveEvent, LogItem, ObsoleteFilter } from './live-events.ts';

/** Finds a page of the stream's lasting events in the database, in order: those after the id `after`, up to the id `upTo`. */
export type FindLasting<Event> = (range: { after: EventId; upTo: EventId }) => Promise<Event[]>;

export type EventSequence<Event extends LiveEvent, Note> = ReturnType<typeof eventSequence<Event, Note>>;

/**
 * Merges the events of the log and the database for one reader: each event once, in the order of the ids. `start` is the last id that the
 * reader has. Up to the id `lastingId`, the database may have events that the log lacks. After this id, the database is needed only if an
 * id was reserved and its event did not arrive.
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

  /** Yields the events of the database that the reader has not been shown, up to the id `upTo`. */
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

  /**
   * Queries the database again, because the log may lack some events. Yields the events that the reader has not been shown, up to the id
   * `lastingId`.
   */
  async function* lookUp(lastingId: EventId): AsyncGenerator<Event> {
    found = [];
    unread = lastingId;
    yield* catchUp(lastingId);
  }

  /** Yields the events of the database up to the newest reserved id. Called when a reserved event does not arrive from the log. */
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

    /** Takes the next item of the log. Yields the events that the reader can be shown after it. */
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
