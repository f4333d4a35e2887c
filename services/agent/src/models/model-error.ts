import { noUsage, type TokenUsage } from './model.ts';

/** Kinds of failures of model calls; clients may see them. `kindOfStatus` in `provider-error.ts` maps HTTP statuses to these kinds. */
export type ModelErrorKind = keyof typeof MESSAGES;

const MESSAGES = {
  unreachable: 'The model provider cannot be reached',
  refused: 'The model provider refused the credentials',
  rateLimited: 'The model provider is limiting requests',
  timedOut: 'The model did not answer in time',
  unknownModel: 'The model provider does not have this model',
  tooLong: 'The request is longer than the model takes',
  badRequest: 'The model provider did not take the request',
  failed: 'The model failed to answer',
  declined: 'The model, or the filter of its provider, declined to answer',
  limitReached: 'The model reached its limit of tokens before its first word',
};

export interface ModelErrorOptions {
  beforeFirstChunk: boolean;
  /** Whether a retry, with this provider or another, may succeed. */
  transient: boolean;
  retryAfterMs?: number;
  usage?: TokenUsage;
  cause?: unknown;
}

/** A failed model call. The message depends on the kind only; host, URL and the provider's answer are in `cause`. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly kind: ModelErrorKind;
  readonly beforeFirstChunk: boolean;
  readonly retryable: boolean;
  /** The provider's `Retry-After`, at most 10 minutes. */
  readonly retryAfterMs: number | undefined;
  /** Usage before the failure: the provider's figures if it gave any, else an estimate. */
  readonly usage: TokenUsage;
  /** Whether the failed model was a fallback for the chosen one. Set by the chain. */
  isFallback = false;

  constructor(kind: ModelErrorKind, options: ModelErrorOptions) {
    const { beforeFirstChunk, transient, retryAfterMs, usage, cause } = options;
    super(MESSAGES[kind], cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.beforeFirstChunk = beforeFirstChunk;
    this.retryable = beforeFirstChunk && transient;
    this.retryAfterMs = retryAfterMs;
    this.usage = usage ?? noUsage;
  }
}
