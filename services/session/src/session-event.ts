import type { EventId } from '@parley/live/event-log/event-id';
import type { Citation } from '@parley/protos/parley/agent/v1/citations';
import type { Message as MessageProto, SessionEvent } from '@parley/protos/parley/session/v1/session';
import type { Message, SessionStatus } from './session.ts';
import { protoToolCall, type ToolCall } from './tool-call.ts';
import type { TurnFailure } from './turn-failure.ts';

export interface EventHeader {
  /** Empty for a chunk or a tool call until the event log assigns the id. */
  eventId: EventId | '';
  sessionId: number;
  occurredAt: Date;
}

export interface EventTurn {
  turnIndex: number;
  clientTurnId: string | null;
}

function turnFields({ turnIndex, clientTurnId }: EventTurn) {
  return { turnIndex, clientTurnId: clientTurnId ?? undefined };
}

export function chunkEvent(
  header: EventHeader,
  turn: EventTurn,
  { attempt, text, citations = null }: { attempt: number; text: string; citations?: Citation[] | null },
): SessionEvent {
  const piece = { ...turnFields(turn), attempt, text, citations: citations ? { citations } : undefined };
  return { ...header, kind: { $case: 'aiResponseChunk', value: piece } };
}

export function toolCallEvent(
  header: EventHeader,
  turn: EventTurn,
  { attempt, call }: { attempt: number; call: ToolCall },
): SessionEvent {
  const value = { ...turnFields(turn), attempt, call: protoToolCall(call) };
  return { ...header, kind: { $case: 'toolCallChanged', value } };
}

export function replyEvent(header: EventHeader, turn: EventTurn, message: Message, interrupted: boolean): SessionEvent {
  return {
    ...header,
    kind: { $case: 'aiResponse', value: { ...turnFields(turn), interrupted, message: protoMessage(message) } },
  };
}

export function failedEvent(header: EventHeader, turn: EventTurn, { code, message }: TurnFailure): SessionEvent {
  return { ...header, kind: { $case: 'turnFailed', value: { ...turnFields(turn), code, message } } };
}

export function statusEvent(header: EventHeader, status: SessionStatus): SessionEvent {
  return { ...header, kind: { $case: 'sessionStatusChanged', value: { status } } };
}

export function protoMessage(stored: Message): MessageProto {
  const { costUsd, modelId, finishReason, tokensEstimated, structuredContent, citations, toolCalls, ...message } =
    stored;
  return {
    ...message,
    costUsdE8: BigInt(Math.round(costUsd * 1e8)),
    modelId: modelId ?? undefined,
    finishReason: finishReason ?? undefined,
    tokensEstimated: tokensEstimated ?? undefined,
    citations: citations ? { citations } : undefined,
    toolCalls: toolCalls ? { calls: toolCalls.map(protoToolCall) } : undefined,
    structuredContentJson: structuredContent === null ? '' : JSON.stringify(structuredContent),
  };
}
