import type { Gate } from './gate.ts';

/** The answer to one request. Default: the text word by word, then `stop`. */
export interface ModelAnswer {
  /** The text of the answer. A list has the deltas to send. Default: `Hello from the model server.` */
  text?: string | string[];
  /** The model's thoughts before its text, delta by delta. OpenAI's own format has no thoughts. Default: none. */
  thoughts?: string[];
  /** How a single string is split into deltas. Default `word`. */
  deltas?: 'word' | 'character' | 'whole';
  /** How bytes are written: each event at once, byte by byte, or split inside multi-byte characters. Default `event`. */
  packets?: 'event' | 'byte' | 'split-utf8';
  /** A gate before the headers, for a server that is slow to respond. */
  beforeHeaders?: Gate;
  /** A gate before each delta, including deltas of thoughts. */
  beforeDelta?: Gate;
  /** A gate before each byte of `packets: 'byte'`. */
  beforeByte?: Gate;
  /** Milliseconds before each byte of `packets: 'byte'`. Default 0. */
  byteDelayMs?: number;
  /** Milliseconds before each delta, for people and benches; tests use gates. Default 0. */
  deltaDelayMs?: number;
  /**
   * Tools that the model calls after its text, in one step. The answer then ends with the format's finish reason for calls, and its text is
   * empty by default.
   */
  toolCalls?: ScriptedToolCall[];
  /**
   * How the arguments of calls are split into deltas: `unit` also splits surrogate pairs. Google's arguments are sent whole, or one value
   * at a time. Default `whole`.
   */
  argumentDeltas?: 'whole' | 'character' | 'unit';
  /** Whether the deltas of several calls alternate, which only OpenAI's format can express. Default false. */
  interleaved?: boolean;
  /**
   * The signature of the thoughts or, in OpenAI's and Google's formats, of the first call. Clients must send it back with the results of
   * the calls.
   */
  signature?: string;
  /** The object that is returned as JSON to a request with a `response_format`. Default: the text. */
  json?: unknown;
  /**
   * How the answer ends after all deltas. Default `stop`.
   * - `stop`, `length` or `content_filter`: a normal end with this finish reason.
   * - `cut`: the socket is closed.
   * - `error-event`: an error inside a response with status 200.
   * - `malformed`: invalid JSON in an event.
   * - `unfinished`: no finish reason.
   * - `never`: the socket stays open until the client disconnects.
   * - `endless`: the deltas are repeated until the client disconnects.
   */
  ending?:
    | 'stop'
    | 'length'
    | 'content_filter'
    | 'cut'
    | 'error-event'
    | 'malformed'
    | 'unfinished'
    | 'never'
    | 'endless';
  /** The vendor's error name in an `error-event`, e.g. `overloaded_error`. Default: a server error. */
  error?: string;
  /**
   * Packets that are sent instead of the format's own events, for streams that no SDK would write. The gate `beforeDelta` applies before
   * each packet, and `usage` is the billed usage.
   */
  packetsSent?: readonly (string | Uint8Array)[];
  /** The name of a request parameter that is refused with a 400, as an old server would refuse it. */
  refuses?: string;
  /** Whether the response is compressed, although no client requests that. */
  gzip?: boolean;
  /** The HTTP status. If it is not 200, `body` is sent, by default an error in the request's format. */
  status?: number;
  /** Headers added to the answer, e.g. `location` or `retry-after`. */
  headers?: Record<string, string>;
  /** A body that is sent instead of the one that the other fields describe. */
  body?: string;
  /**
   * The usage sent with the response. An omitted figure is replaced by the number of words. Null: no usage is sent, or zeros if the format
   * requires figures.
   */
  usage?: Partial<ModelUsage> | null;
}

export interface ScriptedToolCall {
  name: string;
  /** The arguments of the call, any JSON value. Default `{}`. */
  arguments?: unknown;
  /** Text that is sent in place of `arguments`, e.g. malformed JSON. */
  argumentsText?: string;
  /** The id of the call. Default: `call_1`, `call_2`, … */
  id?: string;
}

/** The tool calls and results in a request, independent of its format. */
export interface SentTools {
  tools: { name: string; description?: string; schema: unknown }[];
  /** Calls of earlier responses that the request contains again. Malformed arguments are given as text. */
  calls: { id: string; name: string; arguments: unknown }[];
  results: { id: string; text: string; isError?: boolean }[];
  /** Signatures that are sent back, in their order. */
  signatures: string[];
  /** Thoughts that are sent back. */
  thoughts: string[];
}

export interface ModelUsage {
  prompt_tokens: number;
  completion_tokens: number;
  /** The cached part of `prompt_tokens`. Default 0. */
  cached_tokens?: number;
}

/** The part of a request that tests read, as in OpenAI's chat completions; requests in other formats are translated. */
export interface ChatRequestBody {
  model: string;
  messages: { role: string; content: unknown }[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  max_tokens?: number;
  response_format?: { type: string; json_schema?: { name: string; schema: unknown; strict?: boolean } };
}
