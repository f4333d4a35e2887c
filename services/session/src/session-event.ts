import type { EventId } from '@parley/live/event-log/event-id';
import type { Message as MessageMessage, SessionEvent } from '@parley/protos/parley/session/v1/session';
import type { Message, SessionStatus } from './session.ts';
import type { TurnFailure } from './turn-failure.ts';

/** What every event says. */
export interface AboutEvent {
  /** Empty for a chunk on its way into the log, whose entry gives the id. */
  eventId: EventId | '';
  sessionId: number;
  occurredAt: Date;
}

/** Which turn an event belongs to. */
export interface TurnOfEvent {
  turnIndex: number;
  clientTurnId: string | null;
}

function ofTurn({ turnIndex, clientTurnId }: TurnOfEvent) {
  return { turnIndex, clientTurnId: clientTurnId ?? undefined };
}

export function chunkEvent(about: AboutEvent, turn: TurnOfEvent, attempt: number, text: string): SessionEvent {
  return { ...about, kind: { $case: 'aiResponseChunk', value: { ...ofTurn(turn), attempt, text } } };
}

export function replyEvent(about: AboutEvent, turn: TurnOfEvent, message: Message, interrupted: boolean): SessionEvent {
  return {
    ...about,
    kind: { $case: 'aiResponse', value: { ...ofTurn(turn), interrupted, message: messageOf(message) } },
  };
}

export function failedEvent(about: AboutEvent, turn: TurnOfEvent, { code, message }: TurnFailure): SessionEvent {
  return { ...about, kind: { $case: 'turnFailed', value: { ...ofTurn(turn), code, message } } };
}

export function statusEvent(about: AboutEvent, status: SessionStatus): SessionEvent {
  return { ...about, kind: { $case: 'sessionStatusChanged', value: { status } } };
}

/** A stored message as it travels. */
export function messageOf({ costUsd, structuredContent, ...message }: Message): MessageMessage {
  return {
    ...message,
    costUsdE8: BigInt(Math.round(costUsd * 1e8)),
    structuredContentJson: structuredContent === null ? '' : JSON.stringify(structuredContent),
  };
}
