import type { Ledger } from '../ledger.ts';

/** Rows of all services, as selected by `read-rows.ts`. */
export interface Rows {
  tenants: { id: number; suspended: boolean; deleted: boolean }[];
  agents: { tenantId: number; id: number }[];
  /** `judged`: whether the session's end requires an evaluation. */
  sessions: { tenantId: number; id: number; agentId: number; status: string; judged: boolean; endedAt: Date | null }[];
  messages: {
    sessionId: number;
    role: 'USER' | 'MODEL';
    text: string;
    turnIndex: number;
    /** The `turnIndex` of the exchange's user message. */
    exchangeIndex: number;
    /** Null for a person's message, and for a reply that was cut short. */
    finishReason: string | null;
  }[];
  turns: {
    id: number;
    sessionId: number;
    turnIndex: number;
    state: string;
    attempt: number;
    interrupted: boolean;
    failureCode: string | null;
    /** The text of the user message. */
    text: string | null;
  }[];
  /** `judgedBy` is `OFFLINE` if no model was called. */
  evaluations: { tenantId: number; sessionId: number; judgedBy: string; generatedAt: Date }[];
  jobs: {
    service: string;
    tenantId: number | null;
    kind: string;
    key: string;
    state: string;
    /** For how long it has been due, in ms; below 0, it is not yet. */
    dueMs: number;
    /** Remaining time of its lease in ms; null if it is not running. */
    leaseMs: number | null;
    turnId: number | null;
    documentId: number | null;
  }[];
  /** Events that wait for their relay. */
  outbox: { service: string; tenantId: number; topic: string; key: string }[];
  /** Events that a consumer has taken. */
  inbox: { consumer: string; eventId: string }[];
  /** Calls of models that are not settled. */
  reservations: { tenantId: number; callId: string }[];
  /** The `Idempotency-Key`s of requests that are still running. `tenantId`: 0 for none. */
  heldKeys: { tenantId: number; id: string }[];
  /** Running totals of a tenant, each with the sum of its rows. */
  usage: { tenantId: number; what: string; total: string; sum: string }[];
  /** Stored counters of plans and of documents' chunks, each with the actual number or sum of its rows. */
  kept: { tenantId: number; what: string; total: string; sum: string }[];
  /** Documents of knowledge bases that are not deleted. */
  documents: { tenantId: number; id: number; parseStatus: string }[];
  /** Calls of tools by session, 0 for none: those that ended, those that run in a process that lives, and those in the tenant's log. */
  toolCalls: { tenantId: number; sessionId: number; ended: number; running: number; logged: number }[];
  /** Runs of workflows. */
  workflowRuns: { tenantId: number; sessionId: number; status: string }[];
  /** Recorded calls of models. */
  calls: {
    tenantId: number;
    callId: string;
    operation: string;
    modelId: string;
    estimated: boolean;
    tokensIn: number;
    tokensOut: number;
  }[];
}

export interface TopicFacts {
  /** Every event that was published, as often as it is there. */
  events: { topic: string; id: string; key: string; type: string; tenantId: number }[];
  /** The lag of each consumer group on each topic: events that it has not consumed yet. */
  groups: { group: string; topic: string; lag: number }[];
  /** Dead letters that were not replayed. The id of a message that is no event is its position, `<partition>:<offset>`. */
  letters: { topic: string; group: string; eventId: string; reason: string }[];
  /** The ids that are meant to be among the dead letters. */
  poison: readonly string[];
}

/** Facts about an idle mesh for the invariants. Optional ones are set if the checker knows them. */
export interface Facts extends Rows {
  topics?: TopicFacts | undefined;
  /** The responses that its clients got. */
  responses?: Pick<Ledger, 'messages' | 'endedSessions'> | undefined;
  asked?:
    | {
        /** The message of each request for a reply, without requests that continue after tool calls. */
        replies: string[];
        /** The whole of each request for a judgement, as JSON. */
        judgements: string[];
        /** How many requests may exceed the count of attempts, because a process was killed while one was running. */
        repeats: number;
      }
    | undefined;
}

/** Returns one sentence for each violation. */
export type Invariant = (facts: Facts) => string[];
