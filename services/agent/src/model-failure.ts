import { DomainError } from '@parley/kernel/errors';
import { ModelError } from './models/model-error.ts';

/**
 * What the mesh is told of a failed call: `unavailable` while nothing was given, so that it may be made again, else `internal`.
 * What is not the model's failure (a bug, a cancelled call) stays as it is. The models have logged the cause.
 */
export function modelFailure(error: unknown): unknown {
  if (!(error instanceof ModelError)) return error;
  const timedOut = error.kind === 'timedOut';
  if (error.beforeFirstChunk) {
    return new DomainError('unavailable', error.message, { reason: timedOut ? 'TURN_TIMEOUT' : 'MODEL_UNAVAILABLE' });
  }
  return new DomainError('internal', error.message, { reason: timedOut ? 'TURN_TIMEOUT' : 'MODEL_FAILED' });
}
