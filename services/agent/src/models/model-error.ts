import type { TokenUsage } from './model.ts';

/**
 * What went wrong, in words that a client may learn. `refused`: the credentials (401, 403); `rateLimited`: 429;
 * `unknownModel`: the provider has no such model; `tooLong`: the request is longer than the model takes; `badRequest`: the
 * provider does not take the request as it is for another reason; `failed`: it broke off, answered an error or something
 * that is no answer.
 */
export type ModelErrorKind =
  | 'unreachable'
  | 'refused'
  | 'rateLimited'
  | 'timedOut'
  | 'unknownModel'
  | 'tooLong'
  | 'badRequest'
  | 'failed';

const MESSAGES: Record<ModelErrorKind, string> = {
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
  /** Nothing of the answer was given to the caller yet. */
  beforeFirstChunk: boolean;
  /** Another provider, or this one later, may well answer. Counts before the first chunk only. */
  passing: boolean;
  /** What the call used up to here. Default: nothing. */
  usage?: TokenUsage;
  /** For the log alone. */
  cause?: unknown;
}

/** A call that failed. Its message is the kind's and names no host, URL or answer of the provider: `cause` has those. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly kind: ModelErrorKind;
  readonly beforeFirstChunk: boolean;
  /** Whether the call may be made again, or elsewhere: never once something of the answer was given. */
  readonly retryable: boolean;
  /** What the call used before it failed, by estimate. */
  readonly usage: TokenUsage;

  constructor(kind: ModelErrorKind, { beforeFirstChunk, passing, usage, cause }: ModelErrorOptions) {
    super(MESSAGES[kind], cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.beforeFirstChunk = beforeFirstChunk;
    this.retryable = beforeFirstChunk && passing;
    this.usage = usage ?? { tokensIn: 0, tokensOut: 0 };
  }
}
