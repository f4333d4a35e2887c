import { badRequest } from '@parley/kernel/errors';
import type { EventId } from '@parley/live/event-log/event-id';
import { column, type RowOf, table } from '@parley/postgres/database/table';
import type { MessageRole, SessionStatus } from './generated/schema.ts';

export type { MessageRole, SessionStatus } from './generated/schema.ts';

/** How a session can end. */
export type EndStatus = Extract<SessionStatus, 'ENDED' | 'EXPIRED'>;

/** A session's `lastEventId`. @param session its table or alias in the statement */
export function lastEventIdSql(session: string): string {
  return `${session}.last_event_ms || '-' || ${session}.last_event_n`;
}

/** One conversation. */
export const sessions = table('sessions', {
  id: column<number>(),
  tenantId: column<number>(),
  agentId: column<number>(),
  status: column<SessionStatus>(),
  /** Set while a running turn is being cut for the session's end: what it is about to become. */
  endingAs: column<EndStatus | null>(),
  /** Whether its end is announced and so evaluated; false once its tenant has been deleted. */
  judged: column<boolean>(),
  clientExternalId: column<string>({ long: "''" }),
  /** Any JSON value, as the caller gave it. */
  metadata: column<unknown>({ json: true, long: 'NULL' }),
  interruptCount: column<number>(),
  totalTokensInContext: column<number>(),
  /** The id of the newest event that the database holds; `0-0` when there is none. */
  lastEventId: column<EventId>({ sql: lastEventIdSql }),
  startedAt: column<Date | null>(),
  endedAt: column<Date | null>(),
  lastEventAt: column<Date | null>(),
  createdAt: column<Date>(),
  updatedAt: column<Date>(),
});

export type Session = RowOf<typeof sessions>;

/** One thing said. */
export const messages = table('messages', {
  id: column<number>(),
  sessionId: column<number>(),
  role: column<MessageRole>(),
  text: column<string>({ long: "''" }),
  /** Its place in the session, from 0 without gap. */
  turnIndex: column<number>(),
  tokensIn: column<number>(),
  tokensOut: column<number>(),
  costUsd: column<number>({ sql: (message) => `cast(${message}.cost_usd AS float8)` }),
  /** A card, table or list; null when there is none. */
  structuredContent: column<unknown>({ json: true, long: 'NULL' }),
  createdAt: column<Date>(),
  updatedAt: column<Date>(),
});

export type Message = RowOf<typeof messages>;

/** @throws DomainError `invalid` when the session takes no more messages or interrupts. */
export function assertActive(session: Session): void {
  const status = session.endingAs ?? session.status;
  if (status !== 'ACTIVE') throw badRequest(`Session ${session.id} is not active (status: ${status})`);
}
