/**
 * `<ms>-<n>` as in Redis streams: milliseconds since 1970 and a number within that millisecond, both without leading
 * zeros. `0-0` is before every event.
 */
export type EventId = string;

export const FIRST_EVENT_ID: EventId = '0-0';

export interface EventIdParts {
  ms: number;
  n: number;
}

/** The parts of `FIRST_EVENT_ID`. */
export const beginning: EventIdParts = { ms: 0, n: 0 };

const FORM = /^(0|[1-9]\d{0,15})-(0|[1-9]\d{0,15})$/;

/** Parses an id from a client; `0` means the beginning. Undefined when it is malformed. */
export function parseEventId(text: string): EventId | undefined {
  if (text === '0') return FIRST_EVENT_ID;
  const match = FORM.exec(text);
  return match && Number.isSafeInteger(Number(match[1])) && Number.isSafeInteger(Number(match[2])) ? text : undefined;
}

/**
 * Returns the two numbers of an id.
 * @throws RangeError for a malformed id; ids from clients must pass `parseEventId` first.
 */
export function eventIdParts(id: EventId): EventIdParts {
  const canonical = parseEventId(id);
  if (canonical === undefined) throw new RangeError(`Malformed event id: ${id}`);
  const dash = canonical.indexOf('-');
  return { ms: Number(canonical.slice(0, dash)), n: Number(canonical.slice(dash + 1)) };
}

export function formatEventId({ ms, n }: EventIdParts): EventId {
  return `${ms}-${n}`;
}

/** Compares ids for `sort`: negative when `a` is before `b`, 0 when they are equal, otherwise positive. */
export function compareEventIds(a: EventId, b: EventId): number {
  return compareParts(eventIdParts(a), eventIdParts(b));
}

export function compareParts(a: EventIdParts, b: EventIdParts): number {
  return a.ms - b.ms || a.n - b.n;
}
