import type { z } from 'zod';
import type { agentFields } from './agent-input.ts';
import type { AuditActionEnum } from './generated/schema.ts';

/** What the owner of an agent sets. */
export type AgentFields = z.output<typeof agentFields>;

/** A persona that people talk to. */
export interface Agent extends AgentFields {
  id: number;
  /** Set once it has been deleted: it starts nothing more, and what it took part in stays readable. */
  deletedAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

/** An agent with at least the fields that were asked for. */
export type ListedAgent = Pick<Agent, 'id'> & Partial<Agent>;

/** One recorded change. */
export interface AuditLog {
  id: number;
  agentId: number;
  action: AuditActionEnum;
  /** Who did it, as at that time. */
  userId: number | null;
  username: string | null;
  changes: Changes;
  createdAt: Date;
}

/** Field to what it was and what it became; changed fields only. */
export type Changes = Record<string, { from: unknown; to: unknown }>;
