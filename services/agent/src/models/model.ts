import type { JSONObject } from '@ai-sdk/provider';

export type ModelMessage = ConversationMessage | ToolResultsMessage;

export interface ConversationMessage {
  role: 'user' | 'assistant';
  text: string;
  /** Tools that the assistant called along with or after its text. The next message contains the results. */
  toolCalls?: readonly ToolCall[];
}

/** The results of all tool calls of the preceding message. */
export interface ToolResultsMessage {
  role: 'tool';
  text?: undefined;
  results: readonly ToolResult[];
}

export interface ToolCall {
  /** Unique within an answer. */
  callId: string;
  name: string;
  /** Any JSON value; it may violate the tool's schema. Undefined if the model wrote no valid JSON. */
  arguments: unknown;
  /** JSON that must be sent back to the model together with this call, copied from the call's event. */
  replay?: ToolCallReplay | undefined;
}

/** Data that a model must get back together with its own call, such as signed thoughts. Never sent to another model. */
export interface ToolCallReplay {
  providerId: string;
  modelId: string;
  /** Parts that the model wrote between the preceding call and this one, in order. */
  before: readonly { type: 'text' | 'reasoning'; text: string; metadata?: ReplayMetadata }[];
  metadata?: ReplayMetadata;
}

/** The metadata that the SDK returned, keyed by the SDK's name of the provider. */
export type ReplayMetadata = Record<string, JSONObject>;

export interface ToolResult {
  callId: string;
  name: string;
  /** The result's text. The model gets it as quoted data, never as instructions. */
  text: string;
  isError: boolean;
}

export interface ModelTool {
  /** Unique within a request. If a provider's format does not allow the name, the request contains a substitute. */
  name: string;
  description?: string | undefined;
  /** JSON Schema of any draft. Each provider's format gets the parts that it supports; the caller validates the arguments. */
  inputSchema: unknown;
}

/** A passage of a document, which the answer may quote. It is data, never an instruction. */
export interface Passage {
  documentName: string;
  /** The headings above the passage; empty if there are none. */
  heading: string;
  page?: number | undefined;
  /** Cosine similarity to the question, as calculated by the search; at most 1. */
  score?: number;
  text: string;
}

export interface ModelRequest {
  system: string;
  /** Passages of documents, best first. */
  passages?: readonly Passage[];
  /** The conversation, oldest first; the model replies to the last message. */
  messages: ModelMessage[];
  /**
   * `data:image/(png|jpeg|webp|gif);base64,…`, validated by the caller. Sent with the last user message if the model has `vision`;
   * otherwise ignored.
   */
  images?: string[];
  /** Maximum tokens of the answer. Default and upper bound: the model's own maximum. */
  maxOutputTokens?: number;
  /**
   * `schema`: a strict JSON Schema; all properties are required, and no others are allowed. `name`: letters, digits, `_`, `-`. The caller
   * validates the answer.
   */
  json?: { schema: Record<string, unknown>; name: string };
  /**
   * The tools that the model may call. Not sent together with `json`, nor to a model without tool support; such a model
   * answers without tools.
   */
  tools?: readonly ModelTool[];
  /** Set if the reply opens a conversation. The offline model needs this, because it does not follow instructions in the last message. */
  opening?: Opening;
}

/** How a conversation opens: with the given text, or with a greeting by the persona. */
export interface Opening {
  text?: string;
}

export interface TokenUsage {
  /** All tokens of the request, cached ones included. */
  tokensIn: number;
  /** The part of `tokensIn` that the provider read from its cache. */
  tokensCached: number;
  tokensOut: number;
  estimated: boolean;
}

export const noUsage: Readonly<TokenUsage> = { tokensIn: 0, tokensCached: 0, tokensOut: 0, estimated: false };

/**
 * `length`: the maximum of tokens was reached, perhaps within a tool call. `contentFilter`: the provider's filter cut
 * the answer. `toolCalls`: the model waits for the results of its calls.
 */
export type FinishReason = 'stop' | 'length' | 'contentFilter' | 'toolCalls' | 'other';

/**
 * A tool call whose arguments are complete. `argumentsText` is the text that the model wrote. It is needed e.g. to explain to the model why
 * its arguments are invalid JSON.
 */
export type ToolCallEvent = { type: 'toolCall'; argumentsText: string } & ToolCall;

/**
 * A non-empty, well-formed piece of the answer; a tool call, if the request has tools; or `finish`, exactly once and
 * last.
 */
export type ModelEvent =
  | { type: 'text'; text: string }
  | ToolCallEvent
  | ({ type: 'finish'; finishReason: FinishReason } & TokenUsage);

export interface ModelCall {
  /** Cancels the call and its HTTP request; the call then throws the signal's reason. */
  signal: AbortSignal;
  /**
   * Called with each piece of the thoughts and tool calls that the model writes in addition to its text. These count as output tokens and
   * are never shown.
   */
  onThought?: ((text: string) => void) | undefined;
}

/**
 * A language model of any provider. Calls throw `ModelError`, or the signal's reason. Ending the iteration early
 * cancels the call.
 */
export interface Model {
  /** A value of `LlmProviderType`, or `OFFLINE`. */
  readonly providerId: string;
  readonly modelId: string;
  /** True for the built-in model, which is not an LLM and refuses `json` requests. */
  readonly offline: boolean;
  readonly vision: boolean;
  /** Maximum tokens of a request and its answer together. Infinity means no limit, here and in `maxOutputTokens`. */
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  stream(request: ModelRequest, call: ModelCall): AsyncIterable<ModelEvent>;
}

/** A log for warnings about requests that a provider refuses or does not support. */
export interface ModelLog {
  warn(fields: Record<string, unknown>, message: string): void;
}
