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
    /** Null for a user's message, and for a reply that was interrupted. */
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
    /** For how long the job has been due, in ms; negative if it is not due yet. */
    dueMs: number;
    /** Remaining time of the job's lease in ms; null if the job is not running. */
    leaseMs: number | null;
    turnId: number | null;
    documentId: number | null;
  }[];
  /** Events that the relay has not published yet. */
  outbox: { service: string; tenantId: number; topic: string; key: string }[];
  /** Events that a consumer has handled. */
  inbox: { consumer: string; eventId: string }[];
  /** Model calls that are not settled. */
  reservations: { tenantId: number; callId: string }[];
  /** The `Idempotency-Key`s of requests that are still running. A `tenantId` of 0 means no tenant. */
  heldKeys: { tenantId: number; id: string }[];
  /** Stored totals of a tenant. Each has the sum of the counted rows, which the total should equal. */
  usage: { tenantId: number; what: string; total: string; sum: string }[];
  /** Stored counters of plans and of documents' chunks, each with the actual number or sum of the counted rows. */
  kept: { tenantId: number; what: string; total: string; sum: string }[];
  /** Documents that are not deleted from their knowledge base. */
  documents: { tenantId: number; id: number; parseStatus: string }[];
  /**
   * Numbers of tool calls by session: ended calls, calls that run in a live process, and calls in the tenant's log. Calls without a session
   * have the session id 0.
   */
  toolCalls: { tenantId: number; sessionId: number; ended: number; running: number; logged: number }[];
  /** Runs of workflows. */
  workflowRuns: { tenantId: number; sessionId: number; status: string }[];
  /** Recorded model calls. */
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
  /** Every published event, once for each time that it was published. */
  events: { topic: string; id: string; key: string; type: string; tenantId: number }[];
  /** The lag of each consumer group on each topic: events that it has not consumed yet. */
  groups: { group: string; topic: string; lag: number }[];
  /** Dead letters that were not replayed. The id of a message that is no event is its position, `<partition>:<offset>`. */
  letters: { topic: string; group: string; eventId: string; reason: string }[];
  /** The ids that are expected among the dead letters. */
  poison: readonly string[];
}

/** Facts about an idle mesh for the invariants. Optional facts are set if the checker has them. */
export interface Facts extends Rows {
  topics?: TopicFacts | undefined;
  /** The responses that the mesh's clients received. */
  responses?: Pick<Ledger, 'messages' | 'endedSessions'> | undefined;
  asked?:
    | {
        /** The message of each request for a reply, without requests that continue after tool calls. */
        replies: string[];
        /** The complete body of each request for a judgement, as JSON. */
        judgements: string[];
        /** How many requests may be made in addition to the number of attempts, because a process was killed during a request. */
        repeats: number;
      }
    | undefined;
}

/** Returns one sentence for each violation. */
export type Invariant = (facts: Facts) => string[];
