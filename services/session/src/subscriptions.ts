import { tenantRequest } from '@parley/kernel/caller-request';
import { finishEvent, type SubscriptionField } from '@parley/live/subscriptions/subscription-rpc';
import type { Message, SessionEvent } from '@parley/protos/parley/session/v1/session';
import type { Ports } from './ports.ts';
import { finishReasonOf } from './session.ts';
import { toolCallOf } from './tool-call.ts';
import { watchSession } from './watch-session.ts';

export function sessionSubscriptions(ports: Ports): Record<string, SubscriptionField> {
  return {
    async *sessionEvents({ sessionId, after: given }, call) {
      const after = typeof given === 'string' ? given : undefined;
      const watch = { sessionId: String(sessionId), after, follows: call.follows };
      for await (const event of watchSession(ports, tenantRequest(call), watch)) {
        const finished = finishEvent(event, eventPayload);
        if (finished) yield finished;
      }
    },
  };
}

/** Converts an event for GraphQL. Returns undefined for a kind of event, or a status of a tool call, that only a newer version knows. */
export function eventPayload({ eventId, sessionId, occurredAt, kind }: SessionEvent): object | undefined {
  const common = { eventId, sessionId, occurredAt };
  switch (kind?.$case) {
    case 'aiResponseChunk': {
      const { citations: _, ...piece } = kind.value;
      return { __typename: 'AiResponseChunkEvent', ...common, ...piece, turnIndex: shownIndex(piece) };
    }
    case 'toolCallChanged': {
      const { call: given, ...turn } = kind.value;
      const call = given && toolCallOf(given);
      return call && { __typename: 'ToolCallEvent', ...common, ...turn, turnIndex: shownIndex(turn), ...call };
    }
    case 'aiResponse': {
      const { clientTurnId, interrupted, message } = kind.value;
      const turn = { clientTurnId, turnIndex: shownIndex(kind.value), interrupted };
      const finishReason = finishReasonOf(message?.finishReason) ?? null;
      const reply = { text: message?.text, message: message && messagePayload(message), finishReason };
      return { __typename: 'AiResponseEvent', ...common, ...turn, ...reply };
    }
    case 'turnFailed':
      return { __typename: 'TurnFailedEvent', ...common, ...kind.value, turnIndex: shownIndex(kind.value) };
    case 'sessionStatusChanged':
      return { __typename: 'SessionStatusEvent', ...common, ...kind.value };
    default:
      return undefined;
  }
}

/** Returns the turn index for clients: 0 for a greeting, which has no message. */
function shownIndex({ turnIndex }: { turnIndex: number }): number {
  return Math.max(0, turnIndex);
}

function messagePayload({ costUsdE8, structuredContentJson, citations, toolCalls, ...same }: Message): object {
  const structuredContent: unknown = structuredContentJson ? JSON.parse(structuredContentJson) : null;
  return {
    ...same,
    costUsd: Number(costUsdE8) / 1e8,
    finishReason: finishReasonOf(same.finishReason) ?? null,
    structuredContent,
    citations: citations?.citations ?? null,
    toolCalls: toolCalls?.calls.flatMap((call) => toolCallOf(call) ?? []) ?? null,
  };
}
