import type { Caller } from '@parley/chassis/caller';
import type { Credentials } from '../credentials/credentials.ts';
import type { CurrentCaller } from '../credentials/current-caller.ts';
import type { ClientConnection } from '../http/client-connection.ts';
import type { RequestFacts } from '../http/request-log.ts';
import type { ReadDocument } from './documents.ts';

/** What one request's answer may still take of memory. Its subgraphs' answers draw on it together. */
export interface AnswerBudget {
  bytesLeft: number;
  /** How many subgraph answers it was composed of. */
  parts: number;
}

/** One request's context. */
export interface GatewayContext {
  /** Who is asking; anonymous until the operation's root fields are known. */
  caller: Caller;
  /** The same where the operation itself may change it, from one mutation to the next. */
  currentCaller?: CurrentCaller;
  credentials: Credentials;
  /** Whom its calls count for: an IPv4 address, or an IPv6 /64. */
  client: string;
  /** Whether a subgraph has been asked: what has begun is not refused for how many calls wait. */
  begun?: boolean;
  /** Ends what is done for a client that is gone. */
  connection: ClientConnection;
  /** Bytes of the body as received. */
  bodyBytes: number;
  /** The document, read and found within the limits; undefined where the request holds none. */
  read: ReadDocument | undefined;
  /** Filled in for the request's log line. */
  facts: RequestFacts;
  /** What the answer may still take. */
  answer: AnswerBudget;
}
