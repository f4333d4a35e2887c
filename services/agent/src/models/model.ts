export interface ModelMessage {
  role: 'user' | 'assistant';
  text: string;
}

export interface ModelRequest {
  system: string;
  /** The conversation, oldest first; the model replies to the last message. */
  messages: ModelMessage[];
  /** Maximum tokens of the answer; default and upper bound: the model's own maximum. */
  maxOutputTokens?: number;
  /** Strict JSON Schema: all properties required, no others. `name`: letters, digits, `_`, `-`. The caller checks the answer. */
  json?: { schema: Record<string, unknown>; name: string };
}

/** As reported by the provider, else characters / 4. */
export interface TokenUsage {
  tokensIn: number;
  tokensOut: number;
}

/** `length`: the maximum of tokens was reached. `contentFilter`: cut by the provider's filter. */
export type FinishReason = 'stop' | 'length' | 'contentFilter' | 'other';

export interface ModelResult extends TokenUsage {
  text: string;
  finishReason: FinishReason;
}

/** A non-empty, well-formed piece of the answer; or `finish`, exactly once and last. */
export type ModelEvent = { type: 'text'; text: string } | ({ type: 'finish'; finishReason: FinishReason } & TokenUsage);

export interface ModelCall {
  /** Cancels the call and its HTTP request; the call then throws the signal's reason. */
  signal: AbortSignal;
}

/** A language model of any provider. Calls throw `ModelError`, or the signal's reason. Leaving a stream early cancels it. */
export interface Model {
  /** A value of `LlmProviderType`, or `OFFLINE`. */
  readonly providerId: string;
  readonly modelId: string;
  /** True for the built-in model, which is no LLM and refuses `json` requests. */
  readonly offline: boolean;
  /** Maximum tokens of a request and its answer together; Infinity: unlimited, as in `maxOutputTokens`. */
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  stream(request: ModelRequest, call: ModelCall): AsyncIterable<ModelEvent>;
  generate(request: ModelRequest, call: ModelCall): Promise<ModelResult>;
}
