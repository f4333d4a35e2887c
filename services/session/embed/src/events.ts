interface EventBase {
  /** The event's id, in the form `<ms>-<n>`. The ids increase within a session. */
  eventId: string;
  sessionId: number;
  /** Time of the event, in ISO 8601. */
  occurredAt: string;
}

interface TurnEvent extends EventBase {
  /** The `clientTurnId` of the message that began the turn; null for a greeting. */
  clientTurnId: string | null;
  /** Index of the message that the turn answers; 0 for a greeting. */
  turnIndex: number;
}

/**
 * A piece of a reply. If a reply is generated again, `attempt` is higher: the first piece of the new attempt replaces all pieces of earlier
 * attempts.
 */
export interface AiResponseChunkEvent extends TurnEvent {
  __typename: 'AiResponseChunkEvent';
  attempt: number;
  text: string;
}

export interface ToolCall {
  callId: string;
  name: string;
  callStatus: 'STARTED' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED';
  durationMs: number | null;
  errorKind: string | null;
}

/** A tool call started or ended. A later event with the same `callId` replaces the earlier one. */
export interface ToolCallEvent extends TurnEvent, ToolCall {
  __typename: 'ToolCallEvent';
  attempt: number;
}

/** A document passage that was sent to the model for the reply. */
export interface Citation {
  documentId: number;
  documentName: string;
  chunkIndex: number;
  preview: string;
}

/** The complete reply, as stored. */
export interface AiResponseEvent extends TurnEvent {
  __typename: 'AiResponseEvent';
  text: string;
  interrupted: boolean;
  message: {
    id: number;
    turnIndex: number;
    createdAt: string;
    /** A card, a table or a list; see `readStructuredContent`. */
    structuredContent: unknown;
    citations: Citation[] | null;
    toolCalls: ToolCall[] | null;
  };
}

/** A turn that ended without a reply. */
export interface TurnFailedEvent extends TurnEvent {
  __typename: 'TurnFailedEvent';
  /** An error code, such as `MODEL_UNAVAILABLE` or `TURN_TIMEOUT`. */
  code: string;
  /** A message to show to the person. The GraphQL schema names this field `message`. */
  failure: string;
}

export interface SessionStatusEvent extends EventBase {
  __typename: 'SessionStatusEvent';
  status: 'PENDING' | 'ACTIVE' | 'ENDED' | 'EXPIRED';
}

/** An event of a session. A newer server may send types that are not listed here; ignore them. */
export type SessionEvent =
  | AiResponseChunkEvent
  | ToolCallEvent
  | AiResponseEvent
  | TurnFailedEvent
  | SessionStatusEvent;

const turn = 'clientTurnId turnIndex';
const call = 'callId name callStatus: status durationMs errorKind';

/** Fields `status` and `message` need aliases, because their types differ between event types. */
export const sessionEventsDocument = `subscription ($sessionId: ID!, $after: String) {
  sessionEvents(sessionId: $sessionId, after: $after) {
    __typename eventId sessionId occurredAt
    ... on AiResponseChunkEvent { ${turn} attempt text }
    ... on ToolCallEvent { ${turn} attempt ${call} }
    ... on AiResponseEvent {
      ${turn} text interrupted
      message {
        id turnIndex createdAt structuredContent
        citations { documentId documentName chunkIndex preview }
        toolCalls { ${call} }
      }
    }
    ... on TurnFailedEvent { ${turn} code failure: message }
    ... on SessionStatusEvent { status }
  }
}`;

/** Reports whether the first event id is later than the second one. */
export function isLater(id: string, than: string): boolean {
  const [ms = 0, n = 0] = id.split('-').map(Number);
  const [thanMs = 0, thanN = 0] = than.split('-').map(Number);
  return ms > thanMs || (ms === thanMs && n > thanN);
}
