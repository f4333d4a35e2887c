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
  /** The values of all `Idempotency-Key` headers. */
  idempotencyKeys: readonly string[];
  /** Set for a request that has the header and has effects. */
  idempotent?: IdempotentRequest | undefined;
  /** The claimed idempotency key; effects commit under it. */
  heldKey?: HeldKey;
  /** A mutation of a request with a key has taken effect. */
  tookEffect?: boolean;
  /** The answer to a mutation with a key was lost; the subgraph may still carry it out. */
  lostAnswer?: boolean;
  client: string;
  /** A subgraph has been called, so a full queue no longer refuses the request. */
  begun?: boolean;
  /** Set if a root field may take minutes. `callsPerTenant` is the smallest bound of these fields. */
  longRunning?: { callsPerTenant: number | undefined } | undefined;
  /** The response of the only subgraph, requested before execution begins; execution then sends no request. Rejects if the call failed. */
  received?: Promise<Buffer>;
  connection: ClientConnection;
  bodyBytes: number;
  /** Undefined when the request contains no valid document. */
  read: ReadDocument | undefined;
  facts: RequestFacts;
  answer: AnswerBudget;
}
