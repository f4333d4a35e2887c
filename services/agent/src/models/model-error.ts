import type { TokenUsage } from './model.ts';

/** Kinds may be shown to clients; `kindOfStatus` in `provider-error.ts` maps HTTP statuses to them. */
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
  beforeFirstChunk: boolean;
  /** A retry, here or with another provider, may succeed. */
  transient: boolean;
  usage?: TokenUsage;
  cause?: unknown;
}

/** A failed call. The message depends on the kind only; host, URL and the provider's answer are in `cause`. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly kind: ModelErrorKind;
  readonly beforeFirstChunk: boolean;
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
