import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@parley/kernel/log';
import type { EventId } from '@parley/live/event-log/event-id';
import type { EventLog } from '@parley/live/event-log/event-log';
import type { LiveEventType, ObsoleteFilter } from '@parley/live/subscriptions/live-events';
import { type LiveStream, liveStream } from '@parley/live/subscriptions/live-stream';
import { SessionLogEntry } from '@parley/protos/parley/session/v1/event_log';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import { chunkEvent, type TurnOfEvent } from './session-event.ts';

/** How often the log is asked what was shown of a cut reply. */
const readAttempts = 5;
const readPauseMs = 200;

export interface TurnAttempt {
  turnIndex: number;
  attempt: number;
}

/** The stream of the event log that carries a session's events. */
export function streamOf(session: { tenantId: number; id: number }): string {
  return `parley:${session.tenantId}:session:${session.id}:events`;
}

/** The events of a session, as its replicas write them for one another. An event may be reserved for the turn that it ends. */
export const sessionEventType: LiveEventType<SessionEvent, TurnAttempt> = {
  encode(item) {
    const kind: NonNullable<SessionLogEntry['kind']> =
      item.kind === 'event'
        ? { $case: 'event', value: item.event }
        : { $case: 'reserved', value: { turnIndex: item.note?.turnIndex, attempt: item.note?.attempt ?? 0 } };
    return SessionLogEntry.encode({ kind }).finish();
  },

  decode(data, id) {
    const { kind } = SessionLogEntry.decode(data);
    if (!kind) return undefined;
    if (kind.$case === 'event') return { kind: 'event', event: { ...kind.value, eventId: kind.value.eventId || id } };
    const { turnIndex, attempt } = kind.value;
    return { kind: 'reserved', id, note: turnIndex === undefined ? undefined : { turnIndex, attempt } };
  },

  obsolete: obsoleteChunks,
};

/** Turns run one after another and attempts too, so chunks of an earlier one come from a holder that has lost its lease. */
function obsoleteChunks(): ObsoleteFilter<SessionEvent, TurnAttempt> {
  let furthest: TurnAttempt = { turnIndex: -1, attempt: 0 };

  function isPast({ turnIndex, attempt }: TurnAttempt): boolean {
    return turnIndex < furthest.turnIndex || (turnIndex === furthest.turnIndex && attempt < furthest.attempt);
  }

  return {
    isObsolete: ({ kind }) => kind?.$case === 'aiResponseChunk' && isPast(kind.value),
    onShown({ kind }) {
      if (kind?.$case === 'aiResponseChunk') furthest = kind.value;
      if (kind?.$case === 'aiResponse' || kind?.$case === 'turnFailed') {
        furthest = { turnIndex: kind.value.turnIndex, attempt: Number.POSITIVE_INFINITY };
      }
    },
    onReserved(turn) {
      if (!isPast(turn)) furthest = turn;
    },
  };
}

/** Writes one session's events. Chunks live in the log alone; the events that last are also in the database (`event-store.ts`). */
export function sessionLog(log: EventLog, session: { tenantId: number; id: number }, logger: Logger): SessionLog {
  const stream = liveStream(sessionEventType, log, streamOf(session), logger);
  return {
    ...stream,

    appendChunk({ turnIndex, clientTurnId, attempt }, text, floor) {
      const about = { eventId: '', sessionId: session.id, occurredAt: new Date() };
      return stream.append(chunkEvent(about, { turnIndex, clientTurnId }, attempt, text), floor);
    },

    async streamedText(turnIndex, after) {
      let attempt = 0;
      let text = '';
      for await (const item of stream.read(after)) {
        if (item.kind !== 'event' || item.event.kind?.$case !== 'aiResponseChunk') continue;
        const chunk = item.event.kind.value;
        if (chunk.turnIndex !== turnIndex || chunk.attempt < attempt) continue;
        text = chunk.attempt > attempt ? chunk.text : text + chunk.text;
        attempt = chunk.attempt;
      }
      return text;
    },
  };
}

export interface SessionLog extends Pick<LiveStream<SessionEvent, TurnAttempt>, 'reserve' | 'publish'> {
  /** Appends a piece of a reply. Rejects while the log is away. */
  appendChunk(turn: TurnOfEvent & TurnAttempt, text: string, floor: EventId): Promise<void>;
  /** What was streamed of a turn by its last attempt that streamed anything, as far as the log has it. */
  streamedText(turnIndex: number, after: EventId): Promise<string>;
}

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
