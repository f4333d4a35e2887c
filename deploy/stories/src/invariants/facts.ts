import type { Ledger } from '../ledger.ts';

/**
 * What is there to be judged once a mesh rests: rows of all services, what its topics hold, what its clients were told and what
 * its models were asked. The parts that are optional are there when whoever looks has them.
 */
export interface Facts {
  tenants: { id: number; suspended: boolean; deleted: boolean }[];
  agents: { tenantId: number; id: number }[];
  sessions: SessionFact[];
  messages: MessageFact[];
  turns: TurnFact[];
  evaluations: EvaluationFact[];
  jobs: JobFact[];
  /** Events that wait for their relay. */
  outbox: { service: string; tenantId: number; topic: string; key: string }[];
  /** Events that a consumer has taken. */
  inbox: { consumer: string; eventId: string }[];
  topics?: TopicFacts | undefined;
  told?: Pick<Ledger, 'messages' | 'endedSessions'> | undefined;
  asked?: AskedFacts | undefined;
}

export interface SessionFact {
  tenantId: number;
  id: number;
  agentId: number;
  status: string;
  /** Whether its end is one that is to be judged. */
  judged: boolean;
  endedAt: Date | null;
}

export interface MessageFact {
  sessionId: number;
  role: 'USER' | 'MODEL';
  text: string;
  turnIndex: number;
  /** The `turnIndex` of the message that it is, or answers. */
  exchangeIndex: number;
}

export interface TurnFact {
  id: number;
  sessionId: number;
  turnIndex: number;
  state: string;
  attempt: number;
  interrupted: boolean;
  failureCode: string | null;
}

export interface EvaluationFact {
  tenantId: number;
  sessionId: number;
  /** `OFFLINE`: by no model. */
  judgedBy: string;
  generatedAt: Date;
}

export interface JobFact {
  service: string;
  tenantId: number | null;
  kind: string;
  key: string;
  state: string;
  /** For how long it has been due, in ms; below 0, it is not yet. */
  dueMs: number;
  /** For how long its lease still holds, in ms; null where it does not run. */
  leaseMs: number | null;
  turnId: number | undefined;
}

export interface TopicFacts {
  /** Every event that was published, as often as it is there. */
  events: { topic: string; id: string; key: string; type: string; tenantId: number }[];
  /** Of each consumer group of each topic: what it has not taken yet. */
  groups: { group: string; topic: string; lag: number }[];
  /** Those that nobody has replayed. What was no event has the place of its message for an id, `<partition>:<offset>`. */
  letters: { topic: string; group: string; eventId: string; reason: string }[];
  /** The ids that are meant to be among the dead letters. */
  poison: readonly string[];
}

export interface AskedFacts {
  /** The last message of each request for a reply. */
  replies: string[];
  /** The whole of each request for a judgement, as JSON. */
  judgements: string[];
  /** How often anybody may have asked once more than its own count says, because the one who answered died. */
  repeats: number;
}

/** What must hold of the facts: one sentence for each place where it does not. */
export type Invariant = (facts: Facts) => string[];
