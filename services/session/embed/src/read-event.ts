import type { AiResponseEvent, Citation, SessionEvent, ToolCall } from './events.ts';

const sessionStatuses = ['PENDING', 'ACTIVE', 'ENDED', 'EXPIRED'];
const callStatuses = ['STARTED', 'SUCCEEDED', 'FAILED', 'CANCELLED'];

/** Validates an event. Returns undefined if its type or a value is unknown to this client; a newer server may send such events. */
export function readEvent(event: SessionEvent): SessionEvent | undefined {
  if (event.__typename === 'SessionStatusEvent') return sessionStatuses.includes(event.status) ? event : undefined;
  if (typeof event.turnIndex !== 'number') return undefined;
  const clientTurnId = event.clientTurnId ?? null;
  switch (event.__typename) {
    case 'AiResponseChunkEvent':
      return isText(event.text) ? { ...event, clientTurnId } : undefined;
    case 'ToolCallEvent':
      return isCall(event) ? { ...event, clientTurnId } : undefined;
    case 'AiResponseEvent':
      return isText(event.text) ? { ...event, clientTurnId, message: readMessage(event.message) } : undefined;
    case 'TurnFailedEvent':
      return isText(event.failure) ? { ...event, clientTurnId } : undefined;
    default:
      return undefined;
  }
}

/** Keeps the valid citations and tool calls of a stored reply and drops the others, because the text can be shown without them. */
function readMessage(message: Partial<AiResponseEvent['message']> | null | undefined): AiResponseEvent['message'] {
  const { citations, toolCalls } = message ?? {};
  return {
    id: 0,
    turnIndex: 0,
    createdAt: '',
    structuredContent: null,
    ...message,
    citations: Array.isArray(citations) ? citations.filter(isCitation) : null,
    toolCalls: Array.isArray(toolCalls) ? toolCalls.filter(isCall) : null,
  };
}

function isCall(call: Partial<ToolCall> | null): call is ToolCall {
  return isText(call?.callId) && isText(call.name) && callStatuses.includes(String(call.callStatus));
}

function isCitation(citation: Partial<Citation> | null): citation is Citation {
  return isText(citation?.documentName) && isText(citation.preview);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
