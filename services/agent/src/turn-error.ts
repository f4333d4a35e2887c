import { DomainError } from '@parley/kernel/errors';
import { ModelError } from './models/model-error.ts';

/**
 * Maps a `ModelError` to the error of `RunTurn`: `unavailable` before the first text, so that the call may be retried, else
 * `internal`. Other errors (a bug, a cancelled call) are returned unchanged. The model has already logged the cause.
 */
export function turnError(error: unknown): unknown {
  if (!(error instanceof ModelError)) return error;
  const timedOut = error.kind === 'timedOut';
  if (error.beforeFirstChunk) {
    return new DomainError('unavailable', error.message, { reason: timedOut ? 'TURN_TIMEOUT' : 'MODEL_UNAVAILABLE' });
  }
  return new DomainError('internal', error.message, { reason: timedOut ? 'TURN_TIMEOUT' : 'MODEL_FAILED' });
}
