import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@parley/kernel/telemetry/log';
import { unlessAborted } from '@parley/kernel/timing/abort';
import type { EventId } from '@parley/live/event-log/event-id';
import type { EventLog } from '@parley/live/event-log/event-log';
import type { LiveEventType, ObsoleteFilter } from '@parley/live/subscriptions/live-events';
import { liveStream } from '@parley/live/subscriptions/live-stream';
import type { Citation } from '@parley/protos/parley/agent/v1/citations';
import { SessionLogEntry } from '@parley/protos/parley/session/v1/event_log';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import { chunkEvent, type EventTurn, toolCallEvent } from './session-event.ts';
import { cutCalls, type ToolCall, toolCallOf, withCall } from './tool-call.ts';

const readAttempts = 5;
const readPauseMs = 200;

export interface TurnAttempt {
  turnIndex: number;
  attempt: number;
}

export function streamOf(session: { tenantId: number; id: number }): string {
  return `parley:${session.tenantId}:session:${session.id}:events`;
}

/** What the log contains of a reply: the parts of the latest attempt that has chunks or tool calls. */
export interface StreamedReply {
  text: string;
  citations: Citation[] | null;
  /** Calls in the order in which they began, each with its current status. */
  toolCalls: ToolCall[];
}

export const nothingStreamed: StreamedReply = { text: '', citations: null, toolCalls: [] };

/** Reports whether subscribers have seen nothing of the reply. */
export function isEmpty({ text, toolCalls }: StreamedReply): boolean {
  return text === '' && toolCalls.length === 0;
}

/**
 * The format of entries in the event log. All replicas must be able to read it. The entry of a reserved id may name the turn that the event
 * with this id will end.
 */
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

  obsolete: obsoleteParts,
};

/** The parts in which a reply is streamed. */
type ReplyPart = Extract<NonNullable<SessionEvent['kind']>, { $case: 'aiResponseChunk' | 'toolCallChanged' }>;

function isReplyPart(kind: SessionEvent['kind']): kind is ReplyPart {
  return kind?.$case === 'aiResponseChunk' || kind?.$case === 'toolCallChanged';
}

function withPart(reply: StreamedReply, part: ReplyPart): StreamedReply {
  if (part.$case === 'aiResponseChunk') {
    const { text, citations } = part.value;
    return { ...reply, text: reply.text + text, citations: citations?.citations ?? reply.citations };
  }
  const call = part.value.call && toolCallOf(part.value.call);
  return call ? { ...reply, toolCalls: withCall(reply.toolCalls, call) } : reply;
}

/**
 * Removes parts that a process wrote after it lost its lease. Turns and attempts run one after another, so parts of an
 * earlier turn or attempt are obsolete.
 */
function obsoleteParts(): ObsoleteFilter<SessionEvent, TurnAttempt> {
  let latest: TurnAttempt = { turnIndex: -1, attempt: 0 };

  function isOutdated({ turnIndex, attempt }: TurnAttempt): boolean {
    return turnIndex < latest.turnIndex || (turnIndex === latest.turnIndex && attempt < latest.attempt);
  }

  return {
    isObsolete: ({ kind }) => isReplyPart(kind) && isOutdated(kind.value),
    onShown({ kind }) {
      if (isReplyPart(kind)) latest = kind.value;
      if (kind?.$case === 'aiResponse' || kind?.$case === 'turnFailed') {
        latest = { turnIndex: kind.value.turnIndex, attempt: Number.POSITIVE_INFINITY };
      }
    },
    onReserved(turn) {
      if (!isOutdated(turn)) latest = turn;
    },
  };
}

/**
 * Reads and writes one session's events in the event log. Chunks and tool calls are only in the log; all other events
 * are in the database too (`event-store.ts`).
 */
export function sessionLog(log: EventLog, session: { tenantId: number; id: number }, logger: Logger) {
  const logFields = { sessionId: session.id };
  const stream = liveStream(sessionEventType, log, streamOf(session), { logger, logFields });

  const header = () => ({ eventId: '', sessionId: session.id, occurredAt: new Date() }) as const;

  async function readReply(turnIndex: number, after: EventId) {
    let attempt = 0;
    let reply = nothingStreamed;
    for await (const item of stream.read(after)) {
      const part = item.kind === 'event' ? item.event.kind : undefined;
      if (!isReplyPart(part) || part.value.turnIndex !== turnIndex || part.value.attempt < attempt) continue;
      reply = withPart(part.value.attempt > attempt ? nothingStreamed : reply, part);
      attempt = part.value.attempt;
    }
    return { attempt, reply };
  }

  /** Reports whether a tool call of a turn is in the log. */
  async function findCall(turnIndex: number, after: EventId): Promise<boolean> {
    for await (const item of stream.read(after)) {
      const part = item.kind === 'event' ? item.event.kind : undefined;
      if (part?.$case === 'toolCallChanged' && part.value.turnIndex === turnIndex) return true;
    }
    return false;
  }

  /** Reads the streamed reply of a turn. Retries for some seconds while the log is unavailable, then returns an empty reply. */
  async function tryReadReply(turnIndex: number, after: EventId) {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await readReply(turnIndex, after);
      } catch (error) {
        if (attempt === readAttempts) {
          logger.warn({ err: error, ...logFields, turnIndex }, 'event log read failed; streamed text lost');
          return { attempt: 0, reply: nothingStreamed };
        }
        await delay(readPauseMs * attempt, undefined, { ref: false });
      }
    }
  }

  /** Appends a tool call. Rejects while the log is unavailable. */
  function appendCall({ turnIndex, clientTurnId, attempt }: EventTurn & TurnAttempt, call: ToolCall, floor: EventId) {
    return stream.append(toolCallEvent(header(), { turnIndex, clientTurnId }, { attempt, call }), floor);
  }

  return {
    ...stream,
    appendCall,

    /** Appends a chunk. Rejects while the log is unavailable. @param chunk with citations if it is the attempt's first */
    appendChunk(
      { turnIndex, clientTurnId, attempt }: EventTurn & TurnAttempt,
      chunk: Pick<StreamedReply, 'text' | 'citations'>,
      floor: EventId,
    ) {
      return stream.append(chunkEvent(header(), { turnIndex, clientTurnId }, { attempt, ...chunk }), floor);
    },

    /**
     * Reports whether any attempt of a turn has called a tool; false if the log stays unavailable or `signal` aborts. Retries for some
     * seconds.
     */
    async hasCalls(turnIndex: number, floor: EventId, signal: AbortSignal): Promise<boolean> {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await unlessAborted(findCall(turnIndex, floor), signal);
        } catch (error) {
          if (signal.aborted) return false;
          if (attempt === readAttempts) {
            logger.warn({ err: error, ...logFields, turnIndex }, 'event log read failed; tool calls not found');
            return false;
          }
          await delay(readPauseMs * attempt, undefined, { ref: false, signal }).catch(() => undefined);
        }
      }
    },

    /**
     * Reads what was streamed of an abandoned reply. Marks its running tool calls as cancelled, and appends an event
     * for each. Returns an empty reply if the log stays unavailable. Retries for some seconds, so do not call it in a
     * transaction.
     */
    async cutReply(turn: EventTurn, floor: EventId): Promise<StreamedReply> {
      const { attempt, reply } = await tryReadReply(turn.turnIndex, floor);
      let { toolCalls } = reply;
      for (const call of cutCalls(toolCalls)) {
        toolCalls = withCall(toolCalls, call);
        await appendCall({ ...turn, attempt }, call, floor).catch((error: unknown) =>
          logger.warn({ err: error, ...logFields }, 'event log append failed; cancelled call not streamed'),
        );
      }
      return { ...reply, toolCalls };
    },
  };
}

export type SessionLog = ReturnType<typeof sessionLog>;
