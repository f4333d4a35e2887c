import type { EventId } from '../event-log/event-id.ts';
import type { Entry } from '../event-log/event-log.ts';

/** An event of a stream. Lasting events are also in the database of their service; other events are in the event log only. */
export interface LiveEvent {
  /** Empty until the event has an id. Ids increase within a stream. */
  eventId: EventId;
}

/** The decoded content of an entry of the event log. */
export type LogItem<Event, Note> =
  | { kind: 'event'; event: Event }
  /** An event with this id is being stored. `note` is information about the event that readers get before the event. */
  | { kind: 'reserved'; id: EventId; note: Note | undefined };

/** Skips events that are obsolete for one reader because of other events that the reader has been shown. */
export interface ObsoleteFilter<Event, Note> {
  isObsolete(event: Event): boolean;
  /** Called when the reader is shown an event. */
  onShown(event: Event): void;
  /** Called with the note of a reserved event, before this event arrives. */
  onReserved(note: Note): void;
}

/** A kind of stream: the encoding of its entries, and which events are obsolete for readers. */
export interface LiveEventType<Event extends LiveEvent, Note> {
  /** Returns a new array at each call, because the array is the key under which a decoded entry is cached. */
  encode(item: { kind: 'event'; event: Event } | { kind: 'reserved'; note: Note | undefined }): Uint8Array;
  /** @returns the decoded item; undefined if only a newer version knows the item's kind. An event without its own id gets `id`. */
  decode(data: Uint8Array, id: EventId): LogItem<Event, Note> | undefined;
  /** Makes a new filter for one reader. */
  obsolete(): ObsoleteFilter<Event, Note>;
}

// The decoded item of each entry, by the entry's byte array, which all readers of one process share.
const decoded = new WeakMap<Uint8Array, { item: unknown }>();

/** Returns the item of an entry, decoded once for all readers; undefined if only a newer version knows its kind. */
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
