import { conflict, type DomainError } from './errors.ts';

/**
 * Returns why a value is not a valid `Idempotency-Key`; undefined if it is valid. The reason completes the sentence "Idempotency-Key …".
 */
export function idempotencyKeyProblem(key: string): string | undefined {
  return /^[\x20-\x7e]{1,255}$/u.test(key) ? undefined : 'must be 1 to 255 printable ASCII characters';
}

const inProgress = 'IDEMPOTENCY_KEY_IN_PROGRESS';

/** Makes the error of a retry while the original request runs. The error is not stored, so a later retry may get the answer. */
export function keyInProgress(): DomainError {
  return conflict('The request with this Idempotency-Key is in progress; try again later', inProgress);
}

export function isKeyInProgress({ reason }: { reason?: unknown }): boolean {
  return reason === inProgress;
}
