import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@parley/kernel/log';
import type { EventId } from '@parley/live/event-log/event-id';
import type { EventLog } from '@parley/live/event-log/event-log';
import type { LiveEventType, ObsoleteFilter } from '@parley/live/subscriptions/live-events';
import { liveStream } from '@parley/live/subscriptions/live-stream';
import type { Citation } from '@parley/protos/parley/agent/v1/citations';
import { SessionLogEntry } from '@parley/protos/parley/session/v1/event_log';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import { chunkEvent, type EventTurn } from './session-event.ts';

const readAttempts = 5;
const readPauseMs = 200;

export interface TurnAttempt {
  turnIndex: number;
  attempt: number;
}

export function streamOf(session: { tenantId: number; id: number }): string {
  return `parley:${session.tenantId}:session:${session.id}:events`;
}

/** A reply as far as the log has it, of its latest attempt with chunks. */
export interface StreamedReply {
  text: string;
  citations: Citation[] | null;
}

export const nothingStreamed: StreamedReply = { text: '', citations: null };

/** The format in which replicas write events for each other. A reserved id may name the turn that it will end. */
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

/** Turns and attempts run one after another, so chunks of an earlier one come from a process that has lost its lease. */
function obsoleteChunks(): ObsoleteFilter<SessionEvent, TurnAttempt> {
  let latest: TurnAttempt = { turnIndex: -1, attempt: 0 };

  function isOutdated({ turnIndex, attempt }: TurnAttempt): boolean {
    return turnIndex < latest.turnIndex || (turnIndex === latest.turnIndex && attempt < latest.attempt);
  }

  return {
    isObsolete: ({ kind }) => kind?.$case === 'aiResponseChunk' && isOutdated(kind.value),
    onShown({ kind }) {
      if (kind?.$case === 'aiResponseChunk') latest = kind.value;
      if (kind?.$case === 'aiResponse' || kind?.$case === 'turnFailed') {
        latest = { turnIndex: kind.value.turnIndex, attempt: Number.POSITIVE_INFINITY };
      }
    },
    onReserved(turn) {
      if (!isOutdated(turn)) latest = turn;
    },
  };
}

/** One session's events in the log. Chunks are only there; all others are in the database too (`event-store.ts`). */
export function sessionLog(log: EventLog, session: { tenantId: number; id: number }, logger: Logger) {
  const logFields = { sessionId: session.id };
  const stream = liveStream(sessionEventType, log, streamOf(session), { logger, logFields });

  async function readReply(turnIndex: number, after: EventId): Promise<StreamedReply> {
    let attempt = 0;
    let reply = nothingStreamed;
    for await (const item of stream.read(after)) {
      if (item.kind !== 'event' || item.event.kind?.$case !== 'aiResponseChunk') continue;
      const chunk = item.event.kind.value;
      if (chunk.turnIndex !== turnIndex || chunk.attempt < attempt) continue;
      const { text, citations } = chunk.attempt > attempt ? nothingStreamed : reply;
      reply = { text: text + chunk.text, citations: chunk.citations?.citations ?? citations };
      attempt = chunk.attempt;
    }
    return reply;
  }

  return {
    ...stream,

    /** Rejects while the log is unavailable. @param chunk with citations in the attempt's first one */
    appendChunk({ turnIndex, clientTurnId, attempt }: EventTurn & TurnAttempt, chunk: StreamedReply, floor: EventId) {
      const header = { eventId: '', sessionId: session.id, occurredAt: new Date() };
      return stream.append(chunkEvent(header, { turnIndex, clientTurnId }, { attempt, ...chunk }), floor);
    },

    /** Nothing if the log stays unavailable. Retries for seconds: not in a transaction. */
    async streamedReply(turnIndex: number, after: EventId): Promise<StreamedReply> {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await readReply(turnIndex, after);
        } catch (error) {
          if (attempt === readAttempts) {
            logger.warn({ err: error, ...logFields, turnIndex }, 'event log read failed; streamed text lost');
            return nothingStreamed;
          }
          await delay(readPauseMs * attempt, undefined, { ref: false });
        }
      }
    },
  };
}

export type SessionLog = ReturnType<typeof sessionLog>;
