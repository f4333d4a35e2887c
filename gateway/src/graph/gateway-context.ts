import type { Caller } from '@parley/kernel/caller';
import type { Credentials } from '../credentials/credentials.ts';
import type { CurrentCaller } from '../credentials/current-caller.ts';
import type { ClientConnection } from '../http/client-connection.ts';
import type { RequestFacts } from '../http/request-log.ts';
import type { HeldKey, IdempotentRequest } from '../idempotency/idempotency-keys.ts';
import type { ReadDocument } from './documents.ts';
import type { AnswerBudget } from './read-answer.ts';

export interface GatewayContext {
  /** Anonymous until the root fields are known. */
  caller: Caller;
  currentCaller?: CurrentCaller;
  credentials: Credentials;
  /** Each header `Idempotency-Key`. */
  idempotencyKeys: readonly string[];
  /** Of a request with that header, and with effects. */
  idempotent?: IdempotentRequest | undefined;
  /** That its effects are committed under. */
  heldKey?: HeldKey;
  /** A mutation of a request with a key did what it is for. */
  tookEffect?: boolean;
  /** A subgraph was sent a mutation of a request with a key, and may still carry it out. */
  lostAnswer?: boolean;
  client: string;
  /** A subgraph has been called, so a full queue no longer refuses the request. */
  begun?: boolean;
  /** One of its root fields may take minutes. `callsPerTenant`: the least of those that have it. */
  longRunning?: { callsPerTenant: number | undefined } | undefined;
  /** What the only subgraph has answered already, or why it did not: execution sends nothing then. */
  received?: Promise<Buffer>;
  connection: ClientConnection;
  bodyBytes: number;
  /** Undefined when the request contains no valid document. */
  read: ReadDocument | undefined;
  facts: RequestFacts;
  answer: AnswerBudget;
}
