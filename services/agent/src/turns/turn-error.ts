import { DomainError } from '@parley/kernel/errors';
import { ModelError, type ModelErrorKind } from '../models/model-error.ts';

type Reasons = Partial<Record<ModelErrorKind, string>>;

const saidNothing: Reasons = { declined: 'MODEL_DECLINED', limitReached: 'MODEL_LIMIT_REACHED' };

/** Failures that a retry would only repeat. */
const lasting: Reasons = {
  ...saidNothing,
  tooLong: 'MODEL_REQUEST_REFUSED',
  badRequest: 'MODEL_REQUEST_REFUSED',
  unknownModel: 'MODEL_REQUEST_REFUSED',
  refused: 'MODEL_REQUEST_REFUSED',
};

/**
 * Returns the reason of a failure that a retry would repeat. Returns undefined for a temporary failure, and for a
 * fallback with a wrong key or model, because the chosen model may work again.
 */
export function lastingReason({ kind, isFallback }: ModelError): string | undefined {
  return isFallback && (kind === 'refused' || kind === 'unknownModel') ? undefined : lasting[kind];
}

/**
 * Maps a `ModelError`, which was already logged; returns other errors unchanged. Before the first text of the turn the
 * result is `unavailable`, so that the call may be retried.
 */
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
