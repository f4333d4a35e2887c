import type { JSONObject } from '@ai-sdk/provider';

export type ModelMessage = ConversationMessage | ToolResultsMessage;

export interface ConversationMessage {
  role: 'user' | 'assistant';
  text: string;
  /** The tools that the assistant called beside or after its text. The next message has their results. */
  toolCalls?: readonly ToolCall[];
}

/** The results of all calls of the message before it. */
export interface ToolResultsMessage {
  role: 'tool';
  text?: undefined;
  results: readonly ToolResult[];
}

export interface ToolCall {
  /** Unique within its answer. */
  callId: string;
  name: string;
  /** Any JSON value: the model need not keep to the tool's schema. Undefined where it wrote no JSON. */
  arguments: unknown;
  /** Copied from the event of the call: what the model must get back with it. JSON. */
  replay?: ToolCallReplay | undefined;
}

/** What one model wants to see again beside its own call, such as its signed thoughts; kept from every other model. */
export interface ToolCallReplay {
  providerId: string;
  modelId: string;
  /** What the model wrote before the call and after the one before it, in its order. */
  before: readonly { type: 'text' | 'reasoning'; text: string; metadata?: ReplayMetadata }[];
  metadata?: ReplayMetadata;
}

/** As its SDK gave it, by the SDK's own name. */
export type ReplayMetadata = Record<string, JSONObject>;

export interface ToolResult {
  callId: string;
  name: string;
  /** Quoted data for the model, never instructions. */
  text: string;
  isError: boolean;
}

export interface ModelTool {
  /** Unique within a request. A name that not every format takes is sent in another spelling. */
  name: string;
  description?: string | undefined;
  /** JSON Schema of any draft. Sent as far as every format takes it: the caller checks the arguments. */
  inputSchema: unknown;
}

/** Quoted data for the answer, never instructions. */
export interface Passage {
  documentName: string;
  /** The headings that it stands under; empty without any. */
  heading: string;
  page?: number | undefined;
  /** How near the search found it to the question: cosine similarity, at most 1. */
  score?: number;
  text: string;
}

export interface ModelRequest {
  system: string;
  /** Of documents, the best first. */
  passages?: readonly Passage[];
  /** The conversation, oldest first; the model replies to the last message. */
  messages: ModelMessage[];
  /** `data:image/(png|jpeg|webp|gif);base64,…`, checked by the caller. Sent with the last user message to a model with `vision`, else ignored. */
  images?: string[];
  /** Maximum tokens of the answer; default and upper bound: the model's own maximum. */
  maxOutputTokens?: number;
  /** Strict JSON Schema: all properties required, no others. `name`: letters, digits, `_`, `-`. The caller checks the answer. */
  json?: { schema: Record<string, unknown>; name: string };
  /** What the model may call. Not sent with `json`, nor to a model that takes no tools: it then answers without. */
  tools?: readonly ModelTool[];
  /** Set where the reply opens a conversation, as the last message asks for: for a model that does not follow instructions. */
  opening?: Opening;
}

/** How a conversation is opened: with this text, or with a greeting of the persona's. */
export interface Opening {
  text?: string;
}

export interface TokenUsage {
  /** All tokens of the request, cached ones included. */
  tokensIn: number;
  /** Those of `tokensIn` that the provider read from its cache. */
  tokensCached: number;
  tokensOut: number;
  estimated: boolean;
}

export const noUsage: Readonly<TokenUsage> = { tokensIn: 0, tokensCached: 0, tokensOut: 0, estimated: false };

/**
 * `length`: the maximum of tokens was reached, perhaps within a tool call. `contentFilter`: cut by the provider's filter. `toolCalls`: the
 * model waits for the results of its calls.
 */
export type FinishReason = 'stop' | 'length' | 'contentFilter' | 'toolCalls' | 'other';

/** A call whose arguments are complete. `argumentsText` is what the model wrote, e.g. to tell it why that is no JSON. */
export type ToolCallEvent = { type: 'toolCall'; argumentsText: string } & ToolCall;

/** A non-empty, well-formed piece of the answer; a tool call, only where the request has tools; or `finish`, exactly once and last. */
export type ModelEvent =
  | { type: 'text'; text: string }
  | ToolCallEvent
  | ({ type: 'finish'; finishReason: FinishReason } & TokenUsage);

export interface ModelCall {
  /** Cancels the call and its HTTP request; the call then throws the signal's reason. */
  signal: AbortSignal;
  /** Gets what the model writes beside its text, piece by piece: thoughts and tool calls, part of its output tokens, never shown. */
  onThought?: ((text: string) => void) | undefined;
}

/** A language model of any provider. Calls throw `ModelError`, or the signal's reason. Leaving a stream early cancels it. */
export interface Model {
  /** A value of `LlmProviderType`, or `OFFLINE`. */
  readonly providerId: string;
  readonly modelId: string;
  /** True for the built-in model, which is no LLM and refuses `json` requests. */
  readonly offline: boolean;
  readonly vision: boolean;
  /** Maximum tokens of a request and its answer together; Infinity: unlimited, as in `maxOutputTokens`. */
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  stream(request: ModelRequest, call: ModelCall): AsyncIterable<ModelEvent>;
}
