import { DomainError } from '@parley/kernel/errors';
import { ModelError, type ModelErrorKind } from '../models/model-error.ts';

type Reasons = Partial<Record<ModelErrorKind, string>>;

const saidNothing: Reasons = { declined: 'MODEL_DECLINED', limitReached: 'MODEL_LIMIT_REACHED' };

/** Failures that asking again would only repeat. */
const lasting: Reasons = {
  ...saidNothing,
  tooLong: 'MODEL_REQUEST_REFUSED',
  badRequest: 'MODEL_REQUEST_REFUSED',
  unknownModel: 'MODEL_REQUEST_REFUSED',
  refused: 'MODEL_REQUEST_REFUSED',
};

/**
 * The reason of a failure that is not the provider's passing trouble. Undefined for others, and for a fallback whose key or model is
 * wrong: the model that was chosen may answer again.
 */
export function lastingReason({ kind, isFallback }: ModelError): string | undefined {
  return isFallback && (kind === 'refused' || kind === 'unknownModel') ? undefined : lasting[kind];
}

/** `unavailable` before the first text of the turn, so that the call may be retried. Only a `ModelError` is mapped; it was logged already. */
export function turnError(error: unknown, isAnswering: boolean): unknown {
  if (!(error instanceof ModelError)) return error;
  const reason = error.beforeFirstChunk && !isAnswering ? lastingReason(error) : saidNothing[error.kind];
  if (reason) return new DomainError('invalid', error.message, { reason });
  const timedOut = error.kind === 'timedOut';
  if (error.beforeFirstChunk && !isAnswering) {
    return new DomainError('unavailable', error.message, { reason: timedOut ? 'TURN_TIMEOUT' : 'MODEL_UNAVAILABLE' });
  }
  return new DomainError('internal', error.message, { reason: timedOut ? 'TURN_TIMEOUT' : 'MODEL_FAILED' });
}
