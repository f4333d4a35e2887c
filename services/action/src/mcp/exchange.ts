import { AsyncLocalStorage } from 'node:async_hooks';

export interface Room {
  remainingBytes: number;
}

/**
 * One JSON-RPC request to an MCP server, with all its HTTP requests: an interrupted response stream is resumed by further HTTP requests.
 */
export interface Exchange {
  /** Additional headers of the HTTP request that sends the JSON-RPC request. */
  headers: Record<string, string>;
  timeoutMs: number;
  /** Remaining response bytes of all exchanges that share this object. Default: only each single response is limited. */
  room?: Room | undefined;
  /** If set, receives the result. The SDK then gets an empty result, because it would parse and validate the whole result again. */
  kept?: { result?: Record<string, unknown> } | undefined;
  /** Aborts at the end of the exchange, so that its connection is closed. */
  signal: AbortSignal;
  /** The id of the JSON-RPC request, set when that request is sent. Anything sent later in the same async context is another request. */
  id?: string;
  isAnswered: boolean;
  /** If true, nothing more is sent in this async context: `mcpFetch` itself responds with status 202. */
  isOver: boolean;
  /** Whether the stream has sent an event id, so that it can be resumed if it ends before the response. */
  isResumable: boolean;
  /** Number of times that the stream was resumed. */
  resumed: number;
  /** Number of events and messages in the stream. */
  messages: number;
  /** Number of messages that are requests of the server. */
  asked: number;
  /** Ends the exchange with this error, unless it has already ended. */
  fail(error: unknown): void;
}

/**
 * The exchange of the current async context. It is stored there because the SDK does not pass the request to the `fetch` of a transport.
 */
export const exchanges = new AsyncLocalStorage<Exchange>();
