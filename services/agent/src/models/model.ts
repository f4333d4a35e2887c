export interface ModelMessage {
  role: 'user' | 'assistant';
  text: string;
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
  /** `data:image/(png|jpeg|webp|gif);base64,…`, checked by the caller. Sent with the last message to a model with `vision`, else ignored. */
  images?: string[];
  /** Maximum tokens of the answer; default and upper bound: the model's own maximum. */
  maxOutputTokens?: number;
  /** Strict JSON Schema: all properties required, no others. `name`: letters, digits, `_`, `-`. The caller checks the answer. */
  json?: { schema: Record<string, unknown>; name: string };
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

/** `length`: the maximum of tokens was reached. `contentFilter`: cut by the provider's filter. */
export type FinishReason = 'stop' | 'length' | 'contentFilter' | 'other';

/** A non-empty, well-formed piece of the answer; or `finish`, exactly once and last. */
export type ModelEvent = { type: 'text'; text: string } | ({ type: 'finish'; finishReason: FinishReason } & TokenUsage);

export interface ModelCall {
  /** Cancels the call and its HTTP request; the call then throws the signal's reason. */
  signal: AbortSignal;
  /** Gets what the model thinks before it answers, piece by piece: part of its output tokens, never shown. */
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
