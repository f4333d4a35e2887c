import type { Logger } from '@parley/kernel/telemetry/log';
import { compareEventIds, type EventId, eventIdParts, FIRST_EVENT_ID, formatEventId } from '../event-log/event-id.ts';
import type { EventLog } from '../event-log/event-log.ts';
import { itemOf, type LiveEvent, type LiveEventType, type LogItem } from './live-events.ts';
import { retryWhileUnavailable } from './retry-while-unavailable.ts';

/** How far the clocks of Redis and of other processes may be ahead of this one. */
const clockSkewMs = 60_000;

/**
 * Writes one stream of events. A lasting event needs its id before its commit, and readers must not see it before that. So
 * there are three steps: reserve an id by an entry in the log that readers do not show, commit the event with that id, then
 * append the event. A reader that has seen a reservation but not its event (the process died, or the log was unavailable) looks
 * into the database before it shows a later event, or after a second. Appending twice is harmless: readers show no id twice.
 * @param stream the name in the event log, `parley:<tenant id>:…`.
 * @param logFields what identifies the stream in warnings, e.g. `sessionId`.
 */
export function liveStream<Event extends LiveEvent, Note>(
  type: LiveEventType<Event, Note>,
  log: EventLog,
  stream: string,
  { logger, logFields }: { logger: Logger; logFields: Record<string, unknown> },
) {
  let newest: EventId = FIRST_EVENT_ID;

  async function append(entries: Uint8Array[], after: EventId): Promise<EventId[]> {
    const ids = await log.append(stream, entries, { after });
    newest = ids.at(-1) ?? newest;
    return ids;
  }

  return {
    /** Appends an event that does not last. Rejects in an outage. @param floor an id that is at least all ids so far. */
    async append(event: Event, floor: EventId): Promise<void> {
      await append([type.encode({ kind: 'event', event })], floor);
    },

    /**
     * Reserves ids for lasting events, greater than all ids of the stream so far; `floor` is the newest id in the database. In
     * an outage of the log they are made from the clock, above all ids of this writer. A writer without any adds the possible
     * difference of clocks, because readers may have been shown events of another process.
     */
    async reserve(count: number, floor: EventId, note?: Note): Promise<EventId[]> {
      const entries = Array.from({ length: count }, () => type.encode({ kind: 'reserved', note }));
      try {
        return await append(entries, floor);
      } catch (error) {
        logger.warn({ err: error, ...logFields }, 'event log unavailable; ids made from the clock');
        const mayBeBehind = newest === FIRST_EVENT_ID && floor !== FIRST_EVENT_ID;
        const clockMs = Date.now() + (mayBeBehind ? clockSkewMs : 0);
        const last = eventIdParts(
          [floor, newest, formatEventId({ ms: clockMs, n: 0 })].sort(compareEventIds).at(-1) ?? floor,
        );
        return Array.from({ length: count }, (_, index) => formatEventId({ ms: last.ms, n: last.n + 1 + index }));
      }
    },

    /**
     * Shows committed events to readers. Never rejects, since readers can find them in the database as well. After a failed
     * attempt it resolves and retries by itself: the log may be unavailable to this process alone, and then other readers
     * would not know that there is something to look up.
     */
    async publish(events: Event[]): Promise<void> {
      const after = events[0]?.eventId;
      if (after === undefined) return;
      const entries = events.map((event) => type.encode({ kind: 'event', event }));
      const publish = () => log.append(stream, entries, { after });
      try {
        await publish();
      } catch (error) {
        logger.warn({ err: error, ...logFields }, 'live event publish failed; will retry');
        void retryWhileUnavailable(publish).catch((last: unknown) =>
          logger.warn({ err: last, ...logFields }, 'live event publish failed for good'),
        );
      }
    },

    /** The items of the log after an id, oldest first, up to its present end. */
    async *read(after: EventId): AsyncGenerator<LogItem<Event, Note>> {
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
