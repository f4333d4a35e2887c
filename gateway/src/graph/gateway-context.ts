import type { Caller } from '@parley/kernel/caller';
import type { Credentials } from '../credentials/credentials.ts';
import type { CurrentCaller } from '../credentials/current-caller.ts';
import type { ClientConnection } from '../http/client-connection.ts';
import type { RequestFacts } from '../http/request-log.ts';
import type { HeldKey, IdempotentRequest } from '../idempotency/idempotency-keys.ts';
import type { ReadDocument } from './documents.ts';
import type { AnswerBudget } from './read-answer.ts';

export interface GatewayContext {
  /** The caller of the request; anonymous until the root fields are known. */
  caller: Caller;
  currentCaller?: CurrentCaller;
  credentials: Credentials;
  /** The values of all `Idempotency-Key` headers. */
  idempotencyKeys: readonly string[];
  /** Set if the request has an `Idempotency-Key` and has effects. */
  idempotent?: IdempotentRequest | undefined;
  /** The claimed idempotency key; effects commit under it. */
  heldKey?: HeldKey;
  /** Whether a mutation of a request with an idempotency key has taken effect. */
  tookEffect?: boolean;
  /** Whether the answer to a mutation with an idempotency key was lost. The subgraph may still carry the mutation out. */
  lostAnswer?: boolean;
  client: string;
  /** Whether a subgraph has been called. From then on, a full queue no longer refuses the request. */
  begun?: boolean;
  /** Set if a root field may take minutes. `callsPerTenant` is the smallest bound of these fields. */
  longRunning?: { callsPerTenant: number | undefined } | undefined;
  /**
   * The response of the subgraph of a `@passedThrough` query. It is requested before execution begins, so execution sends no request.
   * Rejects if the call failed.
   */
  received?: Promise<Buffer>;
  connection: ClientConnection;
  bodyBytes: number;
  /** The parsed document; undefined when the request contains no valid document. */
  read: ReadDocument | undefined;
  facts: RequestFacts;
  answer: AnswerBudget;
}
