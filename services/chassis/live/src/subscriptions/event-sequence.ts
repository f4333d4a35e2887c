import { compareEventIds, type EventId } from '../event-log/event-id.ts';
import type { LiveEvent, LogItem, ObsoleteFilter } from './live-events.ts';

/** The lasting events of the stream that the database holds after one id and up to another; a page of them, in order. */
export type FindLasting<Event> = (range: { after: EventId; upTo: EventId }) => Promise<Event[]>;

/** What one reader is shown: each event once, in the order of their ids, with those that only the database knows in place. */
export interface EventSequence<Event, Note> {
  /** True while an id has been reserved whose event has not come. */
  readonly needsCatchUp: boolean;
  /** What is to be shown because of one more item of the log. */
  take(item: LogItem<Event, Note>): AsyncGenerator<Event>;
  /** What the database has up to this id and the reader has not been shown yet. */
  catchUp(upTo: EventId): AsyncGenerator<Event>;
  /** The same up to the ids that have been reserved: for when their events do not come. */
  catchUpReserved(): AsyncGenerator<Event>;
  /** The same up to an id that the database has come to since: for when the log may have a gap. */
  lookUp(lastingId: EventId): AsyncGenerator<Event>;
}

/**
 * `start` is the last id that the reader has. Up to `lastingId` the database may hold events that the log does not; beyond,
 * only where an id was reserved and its event did not follow.
 */
export function eventSequence<Event extends LiveEvent, Note>(
  start: EventId,
  lastingId: EventId,
  find: FindLasting<Event>,
  obsolete: ObsoleteFilter<Event, Note>,
): EventSequence<Event, Note> {
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

  async function* lookUp(lastingId: EventId): AsyncGenerator<Event> {
    found = [];
    unread = lastingId;
    yield* catchUp(lastingId);
  }

  async function* catchUpReserved(): AsyncGenerator<Event> {
    const newest = reserved.at(-1);
    if (newest !== undefined) yield* lookUp(newest);
  }

  return {
    get needsCatchUp() {
      return reserved.length > 0;
    },
    catchUp,
    catchUpReserved,
    lookUp,

    async *take(item) {
      if (item.kind === 'reserved') {
        if (compareEventIds(item.id, last) <= 0) return;
        reserved.push(item.id);
        if (item.note !== undefined) obsolete.onReserved(item.note);
        return;
      }
      const { event } = item;
      if (compareEventIds(event.eventId, last) <= 0 || obsolete.isObsolete(event)) return;
      // Something later than a reserved event means that its transaction is over: the database knows whether it came to be.
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
