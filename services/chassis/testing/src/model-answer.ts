import type { Gate } from './gate.ts';

/** How one request is answered. Everything left out is an ordinary answer: the text word by word, then `stop`. */
export interface ModelAnswer {
  /** What the model says; a list gives the deltas as they are. Default: `Hello from the model server.` */
  text?: string | string[];
  /** How a text given as one string is cut into deltas. Default `word`. */
  deltas?: 'word' | 'character' | 'whole';
  /** How the bytes leave: an event at once, byte by byte, or cut inside characters of several bytes. Default `event`. */
  packets?: 'event' | 'byte' | 'split-utf8';
  /** Passed before the headers, for a server that is silent at first. */
  beforeHeaders?: Gate;
  /** Passed before each delta. */
  beforeDelta?: Gate;
  /** Passed before each byte of `packets: 'byte'`, for a server that gives one byte at a time. */
  beforeByte?: Gate;
  /** Milliseconds before each delta, for people and benches; tests use gates. Default 0. */
  deltaDelayMs?: number;
  /** The object answered, as JSON text, to a request with a `response_format`. Default: the text. */
  json?: unknown;
  /**
   * How it ends, after all deltas: in order with `stop`, `length` or `content_filter`; with the socket `cut`; with an
   * `error-event` in the 200; with `malformed` JSON in an event; `unfinished`, without any finish reason; or `never`,
   * the socket silent and open until the client leaves. Default `stop`.
   */
  ending?: 'stop' | 'length' | 'content_filter' | 'cut' | 'error-event' | 'malformed' | 'unfinished' | 'never';
  /** Any other status than 200 answers `body` (default: an error as OpenAI words it) and no text. */
  status?: number;
  /** Headers added to the answer, e.g. `location` or `retry-after`. */
  headers?: Record<string, string>;
  /** Sent as it is instead of everything above. */
  body?: string;
  /** The provider's figures; null: none are given. Default: words counted. */
  usage?: { prompt_tokens: number; completion_tokens: number } | null;
}

/** The body of a chat completion request, as far as tests look at it. */
export interface ChatRequestBody {
  model: string;
  messages: { role: string; content: unknown }[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  max_tokens?: number;
  response_format?: { type: string; json_schema?: { name: string; schema: unknown; strict?: boolean } };
}
