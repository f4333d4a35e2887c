import { DomainError } from '@parley/kernel/errors';
import type { EventId } from './event-id.ts';

/**
 * Append-only streams of live events, kept for a while (1 h by default) and then forgotten. What must last is in a
 * database as well: the log may lose everything at any time, and says so by `complete: false`.
 *
 * Streams are named like keys, `parley:<tenant id>:…`; any other name is a bug and throws. Calls reject with a
 * `DomainError` of kind `unavailable` while the engine cannot be reached.
 */
export interface EventLog {
  /**
   * Adds entries in this order, all or none, and answers their ids: greater than every id that the stream ever gave,
   * also after a restart, a loss of the log or a step back of the clock. `after` is a floor: the newest id of this
   * stream in the caller's database, `0` when nothing was ever appended. Give it where there is such a database: only
   * so can an emptied log know that it holds the whole of a new stream, and one that lost entries that it lacks some
   * (it then forgets what is before the gap). The bytes are kept as they are: do not
   * change them afterwards.
   */
  append(stream: string, entries: Uint8Array[], options?: { after?: EventId }): Promise<EventId[]>;

  /** At most `limit` (1,000) kept entries with an id greater than `after`, in order; `0` reads from the beginning. */
  read(stream: string, options: { after: EventId; limit?: number }): Promise<Excerpt>;

  /**
   * Follows a stream: what is kept after `after`, then what comes, each entry once, in order, without a gap between
   * the two. The position stands when the promise resolves: with `now`, every entry appended from then on arrives.
   * Batches hold whatever is there (1 to 500 entries). An empty one says that the log was away for a moment or has lost
   * something: entries may be missing at that point, so who has a database looks there for what it was not shown before it
   * goes on. Ends quietly when `signal` aborts; abort it when done, since
   * an iteration that waits cannot be ended from outside otherwise. Throws `SlowReader` at a reader that is more
   * than `maxBehind` live entries behind, and `unavailable` when the log stays away: then follow again,
   * after the last id seen.
   */
  tail(stream: string, options: TailOptions, signal: AbortSignal): Promise<Tail>;

  /** Resolves when the engine answers. */
  ping(): Promise<void>;
  /** Ends this connection and whoever follows through it. Later calls reject. */
  close(): Promise<void>;
}

export interface TailOptions {
  /** An id, `0` for all that is kept, or `now` for nothing of it. */
  after: string;
  /** How many live entries the reader may be behind. Default 10,000. */
  maxBehind?: number;
}

export interface Entry {
  id: EventId;
  /** Shared by all readers: not to be changed. */
  data: Uint8Array;
}

export interface Reach {
  /**
   * Whether the log surely holds every entry after the given id. False after a trim or a loss, and always for a
   * stream of which it knows nothing: then replay the lasting events between that id and `oldestId` (all of them,
   * where that is undefined) from the database first, and skip what the log gives again.
   */
  complete: boolean;
  /** The oldest entry that is kept. */
  oldestId: EventId | undefined;
}

export interface Excerpt extends Reach {
  entries: Entry[];
}

/** To be iterated once. */
export interface Tail extends Reach, AsyncIterable<Entry[]> {}

/** Thrown at a reader that fell too far behind. It may follow again after the last id that it has seen. */
export class SlowReader extends DomainError {
  constructor() {
    super('unavailable', 'This reader fell too far behind; follow again after the last event seen', {
      reason: 'SLOW_READER',
    });
  }
}
