import type { EventId } from '../event-log/event-id.ts';
import type { Entry } from '../event-log/event-log.ts';

/** An event of a stream. Those that last are also in the database of their service; others live in the event log alone. */
export interface LiveEvent {
  /** Empty for one that gets the id of its entry in the log. Ids grow within a stream. */
  eventId: EventId;
}

/** What an entry of the event log says. */
export type LogItem<Event, Note> =
  | { kind: 'event'; event: Event }
  /** An event with this id is being stored just now. `note` is what its writer says about it before. */
  | { kind: 'reserved'; id: EventId; note: Note | undefined };

/** Leaves out for one reader what is obsolete because of what it has been shown. */
export interface ObsoleteFilter<Event, Note> {
  isObsolete(event: Event): boolean;
  /** The reader is shown this event. */
  onShown(event: Event): void;
  /** An event has been reserved. */
  onReserved(note: Note): void;
}

/** A kind of stream: how its entries are written in the event log, and what readers need not be shown. */
export interface LiveEventType<Event extends LiveEvent, Note> {
  /** Gives bytes of their own for each call: readers remember what bytes say. */
  encode(item: { kind: 'event'; event: Event } | { kind: 'reserved'; note: Note | undefined }): Uint8Array;
  /** @returns undefined for what only a newer version knows. An event without an id of its own gets `id`. */
  decode(data: Uint8Array, id: EventId): LogItem<Event, Note> | undefined;
  /** A new filter, for one reader. */
  obsolete(): ObsoleteFilter<Event, Note>;
}

// Readers of one process share the bytes of an entry, and so what they say. Bytes belong to one type of event.
const decoded = new WeakMap<Uint8Array, { item: unknown }>();

/** What an entry says, decoded once for all readers; undefined where only a newer version knows it. */
export function itemOf<Event extends LiveEvent, Note>(
  type: Pick<LiveEventType<Event, Note>, 'decode'>,
  { id, data }: Entry,
): LogItem<Event, Note> | undefined {
  const known = decoded.get(data) as { item: LogItem<Event, Note> | undefined } | undefined;
  if (known) return known.item;
  const item = type.decode(data, id);
  decoded.set(data, { item });
  return item;
}
