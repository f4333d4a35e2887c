import { badRequest } from '@parley/chassis/errors';
import type { EventId } from '@parley/chassis/event-log/event-id';
import type { MessageRole, SessionStatus } from './generated/schema.ts';

export type { MessageRole, SessionStatus } from './generated/schema.ts';

/** How a session can end. */
export type EndStatus = Extract<SessionStatus, 'ENDED' | 'EXPIRED'>;

/** One conversation. */
export interface Session {
  id: number;
  tenantId: number;
  agentId: number;
  status: SessionStatus;
  /** Set while a running turn is being cut for the session's end: what it is about to become. */
  endingAs: EndStatus | undefined;
  /** Whether its end is announced and so evaluated; false once its tenant has been deleted. */
  judged: boolean;
  clientExternalId: string;
  /** Any JSON value, as the caller gave it. */
  metadata: unknown;
  interruptCount: number;
  totalTokensInContext: number;
  /** The id of the newest event that the database holds; `0-0` when there is none. */
  lastEventId: EventId;
  startedAt: Date | undefined;
  endedAt: Date | undefined;
  lastEventAt: Date | undefined;
  createdAt: Date;
  updatedAt: Date;
}

/** One thing said. */
export interface Message {
  id: number;
  sessionId: number;
  role: MessageRole;
  text: string;
  /** Its place in the session, from 0 without gap. */
  turnIndex: number;
  tokensIn: number;
  tokensOut: number;
  costUsd: number;
  /** A card, table or list; null when there is none. */
  structuredContent: unknown;
  createdAt: Date;
  updatedAt: Date;
}

/** @throws DomainError `invalid` when the session takes no more messages or interrupts. */
export function assertActive(session: Session): void {
  const status = session.endingAs ?? session.status;
  if (status !== 'ACTIVE') throw badRequest(`Session ${session.id} is not active (status: ${status})`);
}
