import { setTimeout as delay } from 'node:timers/promises';
import { isDomainError } from '@parley/chassis/errors';
import {
  compareEventIds,
  type EventId,
  eventIdParts,
  FIRST_EVENT_ID,
  formatEventId,
} from '@parley/chassis/event-log/event-id';
import type { Entry, EventLog } from '@parley/chassis/event-log/event-log';
import type { Logger } from '@parley/chassis/log';
import { SessionLogEntry } from '@parley/protos/parley/session/v1/event_log';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import { chunkEvent, type TurnOfEvent } from './session-event.ts';

const firstRetryMs = 100;
const longestRetryMs = 5_000;
const retries = 17;

/** How often the log is asked what was shown of a cut reply. */
const readAttempts = 5;
const readPauseMs = 200;

/** How far ahead of this process's clock that of the log may be, or that of another process which has made ids by itself. */
const clockSkewMs = 60_000;

/** What a reader finds in a session's event log. */
export type LogItem =
  | { kind: 'event'; event: SessionEvent }
  /** The promise of an event with this id. */
  | { kind: 'reserved'; id: EventId; turn: TurnAttempt | undefined };

export interface TurnAttempt {
  turnIndex: number;
  attempt: number;
}

/** The stream of the event log that carries a session's events. */
export function streamOf(session: { tenantId: number; id: number }): string {
  return `parley:${session.tenantId}:session:${session.id}:events`;
}

// Readers of one process share an entry's bytes, and so what they say.
const read = new WeakMap<Uint8Array, LogItem | undefined>();

/** What an entry says; undefined when a newer version wrote something that this one does not know. */
export function itemOf({ id, data }: Entry): LogItem | undefined {
  if (read.has(data)) return read.get(data);
  const { kind } = SessionLogEntry.decode(data);
  const item = kind && toItem(id, kind);
  read.set(data, item);
  return item;
}

function toItem(id: EventId, kind: NonNullable<SessionLogEntry['kind']>): LogItem {
  if (kind.$case === 'event') return { kind: 'event', event: { ...kind.value, eventId: kind.value.eventId || id } };
  const { turnIndex, attempt } = kind.value;
  return { kind: 'reserved', id, turn: turnIndex === undefined ? undefined : { turnIndex, attempt } };
}

/**
 * Writes one session's events. Chunks live in the log alone; the events that last (`event-store.ts`) keep their id in the
 * database, and it has to be theirs before the commit, while nobody may see them before. So a lasting event takes three
 * steps: an id is reserved in the log by an entry that readers do not show; the event is committed with that id; then it is
 * appended, saying the id. A reader that has seen the reservation and not the event (the process died in between, the log was
 * away) looks into the database before it shows anything later, or after a moment. So nobody needs to know who failed to
 * append, and appending twice does no harm: readers show no id twice.
 */
export function sessionLog(log: EventLog, session: { tenantId: number; id: number }, logger: Logger) {
  const stream = streamOf(session);
  let newest: EventId = FIRST_EVENT_ID;

  function note(ids: EventId[]): void {
    newest = ids.at(-1) ?? newest;
  }

  return {
    /** Appends a piece of a reply. Rejects while the log is away. */
    async appendChunk(turn: TurnOfEvent & TurnAttempt, text: string, floor: EventId): Promise<void> {
      const { attempt, turnIndex, clientTurnId } = turn;
      const about = { eventId: '', sessionId: session.id, occurredAt: new Date() } as const;
      const event = chunkEvent(about, { turnIndex, clientTurnId }, attempt, text);
      note(await log.append(stream, [encode({ $case: 'event', value: event })], { after: floor }));
    },

    /**
     * Reserves ids for lasting events, greater than all ids of the session so far; `floor` is the newest that the database
     * holds. While the log is away they are made from the clock, above all that this writer has been given; one that has been
     * given nothing cannot know what chunks of another process are shown already, and stays above those by as much as clocks
     * may differ.
     */
    async reserve(count: number, floor: EventId, turn?: TurnAttempt): Promise<EventId[]> {
      const value = { turnIndex: turn?.turnIndex, attempt: turn?.attempt ?? 0 };
      // Bytes of their own for each: readers remember what bytes say, the entry's id included.
      const entries = Array.from({ length: count }, () => encode({ $case: 'reserved', value }));
      try {
        const ids = await log.append(stream, entries, { after: floor });
        note(ids);
        return ids;
      } catch (error) {
        logger.warn({ err: error, sessionId: session.id }, 'no event ids from the log; they are made from the clock');
        const mayBeBehind = newest === FIRST_EVENT_ID && floor !== FIRST_EVENT_ID;
        const clockMs = Date.now() + (mayBeBehind ? clockSkewMs : 0);
        const last = eventIdParts(
          [floor, newest, formatEventId({ ms: clockMs, n: 0 })].sort(compareEventIds).at(-1) ?? floor,
        );
        return Array.from({ length: count }, (_, index) => formatEventId({ ms: last.ms, n: last.n + 1 + index }));
      }
    },

    /**
     * Shows committed events to whoever watches. Never rejects: they can be found in the database as well. Where the log is away
     * it resolves after the first attempt and tries further by itself: the log may be away from this process alone, and then
     * nobody who watches elsewhere would know that there is something to look up.
     */
    async publish(events: SessionEvent[]): Promise<void> {
      const after = events[0]?.eventId;
      if (after === undefined) return;
      const entries = events.map((value) => encode({ $case: 'event', value }));
      const append = () => log.append(stream, entries, { after });
      try {
        await append();
      } catch (error) {
        logger.warn({ err: error, sessionId: session.id }, 'events cannot be shown live yet');
        void publishLater(append).catch((last: unknown) =>
          logger.warn({ err: last, sessionId: session.id }, 'events could not be shown live'),
        );
      }
    },

    /** What was streamed of a turn by its last attempt that streamed anything, as far as the log has it. */
    async streamedText(turnIndex: number, after: EventId): Promise<string> {
      let cursor = after;
      let attempt = 0;
      let text = '';
      for (;;) {
        const { entries } = await log.read(stream, { after: cursor });
        for (const entry of entries) {
          cursor = entry.id;
          const item = itemOf(entry);
          if (item?.kind !== 'event' || item.event.kind?.$case !== 'aiResponseChunk') continue;
          const chunk = item.event.kind.value;
          if (chunk.turnIndex !== turnIndex || chunk.attempt < attempt) continue;
          text = chunk.attempt > attempt ? chunk.text : text + chunk.text;
          attempt = chunk.attempt;
        }
        if (entries.length === 0) return text;
      }
    },
  };
}

export type SessionLog = ReturnType<typeof sessionLog>;

/**
 * What was shown of a reply that is cut. What took the process of the turn may have taken the log for a moment: it is asked again.
 * Nothing where the log stays away. It takes seconds then: not to be awaited within a transaction.
 */
export async function readShown(
  ports: { log: Logger },
  log: SessionLog,
  { turnIndex, sessionId, lastEventId }: { turnIndex: number; sessionId: number; lastEventId: EventId },
): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await log.streamedText(turnIndex, lastEventId);
    } catch (error) {
      if (attempt === readAttempts) {
        ports.log.warn({ err: error, sessionId, turnIndex }, 'what was shown of a cut reply cannot be read');
        return '';
      }
      await delay(readPauseMs * attempt, undefined, { ref: false });
    }
  }
}

/** Tries again for about a minute; whoever watches longer without the log is told that it is away. */
async function publishLater(append: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await delay(Math.min(firstRetryMs * 2 ** (attempt - 1), longestRetryMs), undefined, { ref: false });
    try {
      await append();
      return;
    } catch (error) {
      if (attempt === retries || !isDomainError(error, 'unavailable')) throw error;
    }
  }
}

function encode(kind: NonNullable<SessionLogEntry['kind']>): Uint8Array {
  return SessionLogEntry.encode({ kind }).finish();
}
