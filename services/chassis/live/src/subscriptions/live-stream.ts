import { setTimeout as delay } from 'node:timers/promises';
import { isDomainError } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/log';
import { compareEventIds, type EventId, eventIdParts, FIRST_EVENT_ID, formatEventId } from '../event-log/event-id.ts';
import type { EventLog } from '../event-log/event-log.ts';
import { itemOf, type LiveEvent, type LiveEventType, type LogItem } from './live-events.ts';

const firstRetryMs = 100;
const longestRetryMs = 5_000;
const retries = 17;

/** How far ahead of this process's clock that of the log may be, or that of another process which has made ids by itself. */
const clockSkewMs = 60_000;

export interface LiveStream<Event, Note> {
  /** Appends an event that does not last. Rejects while the log is away. @param floor all ids so far are at most that. */
  append(event: Event, floor: EventId): Promise<void>;
  /**
   * Reserves ids for lasting events, greater than all ids of the stream so far; `floor` is the newest that the database
   * holds. While the log is away they are made from the clock, above all that this writer has been given; one that has been
   * given nothing cannot know what events of another process are shown already, and stays above those by as much as clocks
   * may differ.
   */
  reserve(count: number, floor: EventId, note?: Note): Promise<EventId[]>;
  /**
   * Shows committed events to readers. Never rejects: readers can find them in the database as well. Where the log is away
   * it resolves after the first attempt and tries further by itself: the log may be away from this process alone, and then
   * no reader elsewhere would know that there is something to look up.
   */
  publish(events: Event[]): Promise<void>;
  /** What the log holds after an id, oldest first, up to its present end. */
  read(after: EventId): AsyncGenerator<LogItem<Event, Note>>;
}

/**
 * Writes one stream of events. A lasting event keeps its id in the database, and it has to be its own before the commit, while nobody
 * may see the event before. So it takes three steps: an id is reserved in the log by an entry that readers do not show; the event is
 * committed with that id; then it is appended, with the id. A reader that has seen the reservation and not the event (the process
 * died in between, the log was away) looks into the database before it shows anything later, or after a moment. So nobody
 * needs to know who failed to append, and appending twice does no harm: readers show no id twice.
 * @param stream the name in the event log, `parley:<tenant id>:…`.
 * @param logFields what identifies the stream in warnings, e.g. `sessionId`.
 */
export function liveStream<Event extends LiveEvent, Note>(
  type: LiveEventType<Event, Note>,
  log: EventLog,
  stream: string,
  { logger, logFields }: { logger: Logger; logFields: Record<string, unknown> },
): LiveStream<Event, Note> {
  let newest: EventId = FIRST_EVENT_ID;

  async function append(entries: Uint8Array[], after: EventId): Promise<EventId[]> {
    const ids = await log.append(stream, entries, { after });
    newest = ids.at(-1) ?? newest;
    return ids;
  }

  return {
    async append(event, floor) {
      await append([type.encode({ kind: 'event', event })], floor);
    },

    async reserve(count, floor, note) {
      const entries = Array.from({ length: count }, () => type.encode({ kind: 'reserved', note }));
      try {
        return await append(entries, floor);
      } catch (error) {
        logger.warn({ err: error, ...logFields }, 'event log gave no ids; made from the clock');
        const mayBeBehind = newest === FIRST_EVENT_ID && floor !== FIRST_EVENT_ID;
        const clockMs = Date.now() + (mayBeBehind ? clockSkewMs : 0);
        const last = eventIdParts(
          [floor, newest, formatEventId({ ms: clockMs, n: 0 })].sort(compareEventIds).at(-1) ?? floor,
        );
        return Array.from({ length: count }, (_, index) => formatEventId({ ms: last.ms, n: last.n + 1 + index }));
      }
    },

    async publish(events) {
      const after = events[0]?.eventId;
      if (after === undefined) return;
      const entries = events.map((event) => type.encode({ kind: 'event', event }));
      const publish = () => log.append(stream, entries, { after });
      try {
        await publish();
      } catch (error) {
        logger.warn({ err: error, ...logFields }, 'publishing live events failed; will retry');
        void retry(publish).catch((last: unknown) =>
          logger.warn({ err: last, ...logFields }, 'publishing live events failed for good'),
        );
      }
    },

    async *read(after) {
      for (let cursor = after; ; ) {
        const { entries } = await log.read(stream, { after: cursor });
        for (const entry of entries) {
          cursor = entry.id;
          const item = itemOf(type, entry);
          if (item) yield item;
        }
        if (entries.length === 0) return;
      }
    },
  };
}

/** Tries again for about a minute; readers who follow longer without the log are told that it is away. */
async function retry(publish: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await delay(Math.min(firstRetryMs * 2 ** (attempt - 1), longestRetryMs), undefined, { ref: false });
    try {
      await publish();
      return;
    } catch (error) {
      if (attempt === retries || !isDomainError(error, 'unavailable')) throw error;
    }
  }
}
