import { DomainError } from '@parley/kernel/errors';
import { ModelError } from './models/model-error.ts';

/** `unavailable` before the first text of the turn, so that the call may be retried. Only a `ModelError` is mapped; it was logged already. */
export function turnError(error: unknown, isAnswering: boolean): unknown {
  if (!(error instanceof ModelError)) return error;
  const timedOut = error.kind === 'timedOut';
  if (error.beforeFirstChunk && !isAnswering) {
    return new DomainError('unavailable', error.message, { reason: timedOut ? 'TURN_TIMEOUT' : 'MODEL_UNAVAILABLE' });
  }
  return new DomainError('internal', error.message, { reason: timedOut ? 'TURN_TIMEOUT' : 'MODEL_FAILED' });
}
