/** One message of the conversation, as the model sees it. */
export interface ModelMessage {
  role: 'user' | 'assistant';
  text: string;
}

/** What a model is asked. */
export interface ModelRequest {
  /** The persona and everything else the model must know; empty: none. */
  system: string;
  /** The conversation, oldest first; a reply is wanted to the last one. */
  messages: ModelMessage[];
  /** At most this many tokens are answered; the model's own maximum caps it and is the default. */
  maxOutputTokens?: number;
  /**
   * Asks for a judgement as JSON text in this schema (JSON Schema, in the strict subset: every property required, no
   * additional ones). `name` is letters, digits, `_` and `-`. What comes back is still to be validated.
   */
  json?: { schema: Record<string, unknown>; name: string };
}

/** Tokens in and out: the provider's figures, else characters / 4. */
export interface TokenUsage {
  tokensIn: number;
  tokensOut: number;
}

/** Why an answer ended: by itself, at the maximum of tokens, cut by the provider's filter, or anything else. */
export type FinishReason = 'stop' | 'length' | 'contentFilter' | 'other';

/** A whole answer. */
export interface ModelResult extends TokenUsage {
  text: string;
  finishReason: FinishReason;
}

/** A piece of the answer, never empty and never half a character; or its end, which comes exactly once and last. */
export type ModelEvent = { type: 'text'; text: string } | ({ type: 'finish'; finishReason: FinishReason } & TokenUsage);

/** What every call takes. */
export interface ModelCall {
  /** Cancels the call, the provider's HTTP request included. The call then throws the signal's reason. */
  signal: AbortSignal;
}

/**
 * One language model behind any provider. Calls throw `ModelError`, or the signal's reason where the caller cancelled.
 * Leaving a stream early (`break`) cancels it too.
 */
export interface Model {
  /** As the API serves it: `HOSTED_SMALL_MODEL`, …, or `OFFLINE`. */
  readonly providerId: string;
  readonly modelId: string;
  /** True for the built-in model, which is no LLM: it costs nothing and gives no JSON judgements. */
  readonly offline: boolean;
  /** Tokens of a request and its answer together, at most. Infinity: no such limit. */
  readonly contextTokens: number;
  /** Tokens of an answer, at most. Infinity: no such limit. */
  readonly maxOutputTokens: number;
  stream(request: ModelRequest, call: ModelCall): AsyncIterable<ModelEvent>;
  generate(request: ModelRequest, call: ModelCall): Promise<ModelResult>;
}
