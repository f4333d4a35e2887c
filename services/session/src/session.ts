import { badRequest } from '@parley/kernel/errors';
import type { EventId } from '@parley/live/event-log/event-id';
import { column, type RowOf, table } from '@parley/postgres/database/table';
import type { Citation } from '@parley/protos/parley/agent/v1/citations';
import type { VerifiedIdentity } from './embed/verified-identity.ts';
import type { FinishReason, MessageRole, SessionStatus } from './generated/schema.ts';
import type { ToolCall } from './tool-call.ts';

export type { FinishReason, MessageRole, SessionStatus } from './generated/schema.ts';

export type EndStatus = Extract<SessionStatus, 'ENDED' | 'EXPIRED'>;

/** Returns SQL for a session's `lastEventId`. @param session the table or its alias in the statement */
export function lastEventIdSql(session: string): string {
  return `${session}.last_event_ms || '-' || ${session}.last_event_n`;
}

export const sessions = table('sessions', {
  id: column<number>(),
  tenantId: column<number>(),
  agentId: column<number>(),
  status: column<SessionStatus>(),
  /** The status that the session gets when its running turn has ended; null if the session is not ending. */
  endingAs: column<EndStatus | null>(),
  /** Whether the session's end is published for evaluation; false once the tenant is deleted. */
  judged: column<boolean>(),
  clientExternalId: column<string>({ long: "''" }),
  metadata: column<unknown>({ json: true, long: 'NULL' }),
  /** Null until the person is verified. */
  identity: column<VerifiedIdentity | null>({ json: true, long: 'NULL' }),
  interruptCount: column<number>(),
  totalTokensInContext: column<number>(),
  /** The id of the newest event in the database; `0-0` if there is none. */
  lastEventId: column<EventId>({ sql: lastEventIdSql }),
  startedAt: column<Date | null>(),
  endedAt: column<Date | null>(),
  lastEventAt: column<Date | null>(),
  createdAt: column<Date>(),
  updatedAt: column<Date>(),
});

export type Session = RowOf<typeof sessions>;

export const messages = table('messages', {
  id: column<number>(),
  sessionId: column<number>(),
  role: column<MessageRole>(),
  text: column<string>({ long: "''" }),
  /** The message's position in the session, from 0 without gaps. */
  turnIndex: column<number>(),
  tokensIn: column<number>(),
  tokensOut: column<number>(),
  costUsd: column<number>({ sql: (message) => `cast(${message}.cost_usd AS float8)` }),
  modelId: column<string | null>(),
  /** How the reply ended; null for USER messages, and if unknown. */
  finishReason: column<FinishReason | null>(),
  /** Null for USER messages, and for messages stored before this column existed. */
  tokensEstimated: column<boolean | null>(),
  /** A card, table or list; null when there is none. */
  structuredContent: column<unknown>({ json: true, long: 'NULL' }),
  /** Null if no passages were searched. */
  citations: column<Citation[] | null>({ json: true, long: 'NULL' }),
  /** Null if the reply made no calls. */
  toolCalls: column<ToolCall[] | null>({ json: true, long: 'NULL' }),
  createdAt: column<Date>(),
  updatedAt: column<Date>(),
});

export type Message = RowOf<typeof messages>;

const finishReasons: readonly string[] = ['STOP', 'LENGTH', 'CONTENT_FILTER'] satisfies FinishReason[];

/** Converts a finish reason of the agent. Returns undefined for a reason that only a newer version knows. */
export function finishReasonOf(given: string | undefined): FinishReason | undefined {
  return finishReasons.includes(given ?? '') ? (given as FinishReason) : undefined;
}

export function assertActive(session: Session): void {
  const status = session.endingAs ?? session.status;
  if (status !== 'ACTIVE') throw badRequest(`Session ${session.id} is not active (status: ${status})`);
}
