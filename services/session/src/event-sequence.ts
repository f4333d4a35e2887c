import { compareEventIds, type EventId } from '@parley/chassis/event-log/event-id';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import type { LogItem, TurnAttempt } from './session-log.ts';

/** The lasting events of the session that the database holds after one id and up to another; a page of them, in order. */
export type FindLasting = (range: { after: EventId; upTo: EventId }) => Promise<SessionEvent[]>;

/** What one reader is shown: each event once, in the order of their ids, with those that only the database knows in place. */
export interface EventSequence {
  /** True while an id has been reserved whose event has not come. */
  readonly waiting: boolean;
  /** What is to be shown because of one more item of the log. */
  take(item: LogItem): AsyncGenerator<SessionEvent>;
  /** What the database has up to this id and the reader has not been shown yet. */
  catchUp(upTo: EventId): AsyncGenerator<SessionEvent>;
  /** The same up to the ids that have been reserved: for when their events do not come. */
  settle(): AsyncGenerator<SessionEvent>;
  /** The same up to an id that the database has come to since: for when the log may lack something. */
  lookUp(lastingId: EventId): AsyncGenerator<SessionEvent>;
}

/**
 * `start` is the last id that the reader has. Up to `lastingId` the database may hold events that the log does not; beyond,
 * only where an id was reserved and its event did not follow.
 */
export function eventSequence(start: EventId, lastingId: EventId, find: FindLasting): EventSequence {
  let last = start;
  let unread = lastingId;
  let reserved: EventId[] = [];
  let found: SessionEvent[] = [];
  // Turns run one after another and attempts too, so whatever is below this comes from a holder that has lost its lease.
  let furthest: TurnAttempt = { turnIndex: -1, attempt: 0 };

  function isPast({ turnIndex, attempt }: TurnAttempt): boolean {
    return turnIndex < furthest.turnIndex || (turnIndex === furthest.turnIndex && attempt < furthest.attempt);
  }

  function show(event: SessionEvent): SessionEvent {
    last = event.eventId;
    reserved = reserved.filter((id) => compareEventIds(id, last) > 0);
    const { kind } = event;
    if (kind?.$case === 'aiResponseChunk') furthest = kind.value;
    if (kind?.$case === 'aiResponse' || kind?.$case === 'turnFailed') {
      furthest = { turnIndex: kind.value.turnIndex, attempt: Number.POSITIVE_INFINITY };
    }
    return event;
  }

  async function* catchUp(upTo: EventId): AsyncGenerator<SessionEvent> {
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

  async function* lookUp(lastingId: EventId): AsyncGenerator<SessionEvent> {
    found = [];
    unread = lastingId;
    yield* catchUp(lastingId);
  }

  async function* settle(): AsyncGenerator<SessionEvent> {
    const newest = reserved.at(-1);
    if (newest !== undefined) yield* lookUp(newest);
  }

  return {
    get waiting() {
      return reserved.length > 0;
    },
    catchUp,
    settle,
    lookUp,

    async *take(item) {
      if (item.kind === 'reserved') {
        if (compareEventIds(item.id, last) <= 0) return;
        reserved.push(item.id);
        if (item.turn && !isPast(item.turn)) furthest = item.turn;
        return;
      }
      const { event } = item;
      const { kind } = event;
      if (compareEventIds(event.eventId, last) <= 0) return;
      if (kind?.$case === 'aiResponseChunk' && isPast(kind.value)) return;
      // Something later than a reserved event means that its transaction is over: the database knows whether it came to be.
      const first = reserved[0];
      if (first !== undefined && compareEventIds(first, event.eventId) < 0) {
        yield* settle();
        reserved = reserved.filter((id) => compareEventIds(id, event.eventId) >= 0);
      } else {
        yield* catchUp(event.eventId);
      }
      if (compareEventIds(event.eventId, last) > 0) yield show(event);
    },
  };
}
