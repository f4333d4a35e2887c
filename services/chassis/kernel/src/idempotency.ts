import { conflict, type DomainError } from './errors.ts';

/** Why a value is no `Idempotency-Key`; undefined when it is one. Completes "Idempotency-Key …". */
export function idempotencyKeyProblem(key: string): string | undefined {
  return /^[\x20-\x7e]{1,255}$/u.test(key) ? undefined : 'must be 1 to 255 printable ASCII characters';
}

const inProgress = 'IDEMPOTENCY_KEY_IN_PROGRESS';

/** The error of a retry while the original request runs. It is not stored: a later retry may get the answer. */
export function keyInProgress(): DomainError {
  return conflict('The request with this Idempotency-Key is in progress; try again later', inProgress);
}

export function isKeyInProgress({ reason }: { reason?: unknown }): boolean {
  return reason === inProgress;
}
