import type { TokenUsage } from './model.ts';

/**
 * Kinds that may be shown to clients. `refused`: credentials (401, 403). `rateLimited`: 429. `unknownModel`: the provider has no
 * such model. `tooLong`: the request exceeds the model's context. `badRequest`: the provider refused the request for another reason.
 * `failed`: the answer was interrupted, an error, or malformed.
 */
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
};

export interface ModelErrorOptions {
  /** The caller has received nothing of the answer. */
  beforeFirstChunk: boolean;
  /** A retry, here or with another provider, may succeed. Matters before the first chunk only. */
  transient: boolean;
  /** Estimated usage so far. Default: 0. */
  usage?: TokenUsage;
  /** For the log only. */
  cause?: unknown;
}

/** A failed call. The message depends on the kind only; host, URL and the provider's answer are in `cause`. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly kind: ModelErrorKind;
  readonly beforeFirstChunk: boolean;
  /** Whether the call may be retried; never after the first chunk. */
  readonly retryable: boolean;
  /** Estimated usage before the failure. */
  readonly usage: TokenUsage;

  constructor(kind: ModelErrorKind, { beforeFirstChunk, transient, usage, cause }: ModelErrorOptions) {
    super(MESSAGES[kind], cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.beforeFirstChunk = beforeFirstChunk;
    this.retryable = beforeFirstChunk && transient;
    this.usage = usage ?? { tokensIn: 0, tokensOut: 0 };
  }
}
