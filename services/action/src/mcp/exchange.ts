import { AsyncLocalStorage } from 'node:async_hooks';

export interface Room {
  left: number;
}

/** One request to an MCP server, with all HTTP requests that bring its answer: a stream that was cut is resumed by others. */
export interface Exchange {
  /** Headers of the HTTP request that sends it, beside those of all requests. */
  headers: Record<string, string>;
  timeoutMs: number;
  /** The bytes of answers that may still be read, by this exchange and others that share it. Default: only each answer is bounded. */
  room?: Room | undefined;
  /** Where the result of the answer is kept, which the SDK does not get then: it would parse and check all of it once more. */
  kept?: { result?: Record<string, unknown> } | undefined;
  /** Aborts when the exchange is over, which closes its connection. */
  signal: AbortSignal;
  /** The id of the JSON-RPC request, once it is sent. Whatever is sent in this context afterwards is another request. */
  id?: string;
  isAnswered: boolean;
  /** Nothing more is sent in this context. */
  isOver: boolean;
  /** The stream has named an event, so it can be resumed where it ends before the answer. */
  isResumable: boolean;
  /** How often the stream was resumed. */
  resumed: number;
  /** Counts events and messages in the stream; `asked` counts those that are requests of the server. */
  messages: number;
  asked: number;
  /** Ends the exchange with this error, unless it is over. */
  fail(error: unknown): void;
}

/** The SDK gives a transport's `fetch` no hint for which request it is called, so the context does. */
export const exchanges = new AsyncLocalStorage<Exchange>();
