import type { Logger } from '@parley/kernel/telemetry/log';
import { compareEventIds, type EventId, eventIdParts, FIRST_EVENT_ID, formatEventId } from '../event-log/event-id.ts';
import type { EventLog } from '../event-log/event-log.ts';
import { itemOf, type LiveEvent, type LiveEventType, type LogItem } from './live-events.ts';
import { retryWhileUnavailable } from './retry-while-unavailable.ts';

/** How far ahead of this process's clock the clocks of Redis and of other processes may be. */
const clockSkewMs = 60_000;

/**
 * Writes one stream of events.
 *
 * A lasting event needs its id before its commit, and readers must not see the event before the commit. So there are three steps: reserve
 * an id by a log entry that readers skip, commit the event with that id, then append the event to the log. A reader may have seen a
 * reservation but not its event (the process died, or the log was unavailable). That reader queries the database before it shows a later
 * event, or after a second. Appending an event twice is harmless, because readers show no id twice.
 * @param stream the stream's name in the event log, `parley:<tenant id>:…`.
 * @param logFields what identifies the stream in warnings, e.g. `sessionId`.
 */
export function liveStream<Event extends LiveEvent, Note>(
  type: LiveEventType<Event, Note>,
  log: EventLog,
  stream: string,
  { logger, logFields }: { logger: Logger; logFields: Record<string, unknown> },
) {
  let newest: EventId = FIRST_EVENT_ID;
  /** Whether the log may have entries of this writer with ids above `newest`: Redis may still execute an append that failed here. */
  let mayHaveNewer = false;

  async function append(entries: Uint8Array[], after: EventId): Promise<EventId[]> {
    const ids = await log.append(stream, entries, { after }).catch((error: unknown) => {
      mayHaveNewer = true;
      throw error;
    });
    newest = ids.at(-1) ?? newest;
    return ids;
  }

  return {
    /**
     * Appends an event that is not stored in a database. Rejects in an outage.
     * @param floor an id that no earlier event's id exceeds.
     */
    async append(event: Event, floor: EventId): Promise<void> {
      await append([type.encode({ kind: 'event', event })], floor);
    },

    /**
     * Reserves ids for lasting events, greater than all ids of the stream so far; `floor` is the newest id in the database. In an outage of
     * the log the ids are made from the clock, above all ids of this writer. The possible clock skew is added in two cases: if this writer
     * has appended nothing yet, because readers may have been shown events of another process; and if one of its appends has failed,
     * because the log may still execute that append.
     */
    async reserve(count: number, floor: EventId, note?: Note): Promise<EventId[]> {
      const mayFollowNewer = mayHaveNewer;
      const entries = Array.from({ length: count }, () => type.encode({ kind: 'reserved', note }));
      try {
        return await append(entries, floor);
      } catch (error) {
        logger.warn({ err: error, ...logFields }, 'event log unavailable; ids made from the clock');
        const mayBeBehind = mayFollowNewer || (newest === FIRST_EVENT_ID && floor !== FIRST_EVENT_ID);
        const clockMs = Date.now() + (mayBeBehind ? clockSkewMs : 0);
        const last = eventIdParts(
          [floor, newest, formatEventId({ ms: clockMs, n: 0 })].sort(compareEventIds).at(-1) ?? floor,
        );
        return Array.from({ length: count }, (_, index) => formatEventId({ ms: last.ms, n: last.n + 1 + index }));
      }
    },

    /**
     * Shows committed events to readers. Never rejects, because readers can also find the events in the database. After a failed attempt
     * the promise resolves, and `publish` retries in the background: if only this process cannot reach the log, readers in other processes
     * learn of the new event only by this retry.
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

    /** Yields the items of the log after an id, oldest first, up to the log's current end. */
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
