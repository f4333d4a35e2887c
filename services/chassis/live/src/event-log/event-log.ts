import { DomainError } from '@parley/kernel/errors';
import type { EventId } from './event-id.ts';

/**
 * Append-only streams of live events, deleted after a retention time (1 h by default). The log may lose everything at any time, and reports
 * a loss by `complete: false`; events that must not be lost belong in a database too. Streams are named like keys, `parley:<tenant id>:…`;
 * any other name is a bug and throws. Calls reject with a `DomainError` of kind `unavailable` while the engine cannot be reached.
 */
export interface EventLog {
  /**
   * Adds entries in this order, all or none, and returns their ids. The ids are greater than all earlier ids of the stream, even after a
   * restart, a loss of the log or a step back of the clock.
   *
   * `after` is a lower bound: the newest id of this stream in the caller's database, or `0` when nothing was ever appended. Pass it
   * whenever there is such a database. With `after`, an empty log knows whether it has the whole stream, and a log that lost entries
   * detects the gap and deletes the entries before the gap. Do not change the bytes after the call: the log keeps them without a copy.
   */
  append(stream: string, entries: Uint8Array[], options?: { after?: EventId }): Promise<EventId[]>;

  /** Returns at most `limit` (1,000) entries with an id greater than `after`, in order; `0` reads from the beginning. */
  read(stream: string, options: { after: EventId; limit?: number }): Promise<Excerpt>;

  /**
   * Follows a stream: existing entries after `after`, then new ones, each once, in order, without a gap. The position is set when the
   * promise resolves: with `now`, every entry that is appended later arrives. Batches have 1 to 500 entries. An empty batch means that
   * entries may be missing at this point, because of an outage or a loss: readers with a database look for the missing entries there before
   * they continue.
   *
   * Ends without an error when `signal` aborts. The reader must abort `signal` when it needs no more entries, because nothing else ends a
   * waiting iteration. Throws `SlowReader` when the reader is more than `maxBehind` live entries behind, and `unavailable` in a long
   * outage: then follow again after the last id seen.
   */
  tail(stream: string, options: TailOptions, signal: AbortSignal): Promise<Tail>;

  /** Resolves when the engine responds. */
  ping(): Promise<void>;
  /** Closes the log and ends its tails. Later calls reject. */
  close(): Promise<void>;
}

export interface TailOptions {
  /** Where to begin: after an id, `0` for all existing entries, or `now` for new entries only. */
  after: string;
  /** How many live entries the reader may be behind. Default 10,000. */
  maxBehind?: number;
}

export interface Entry {
  id: EventId;
  /** All readers share these bytes; do not change them. */
  data: Uint8Array;
}

export interface Reach {
  /**
   * Whether the log certainly has every entry after the given id. False after a trim or a loss, and for an unknown stream. Then first
   * replay from the database the events between that id and `oldestId` (all events if `oldestId` is undefined), and skip duplicates.
   */
  complete: boolean;
  /** The id of the oldest entry. */
  oldestId: EventId | undefined;
}

export interface Excerpt extends Reach {
  entries: Entry[];
}

/** An iterable of the batches of a stream. It can be iterated only once. */
export interface Tail extends Reach, AsyncIterable<Entry[]> {}

/** Thrown when a reader is too far behind. The reader may follow again after the last id that it has seen. */
export class SlowReader extends DomainError {
  constructor() {
    super('unavailable', 'This reader fell too far behind; follow again after the last event seen', {
      reason: 'SLOW_READER',
    });
  }
}
