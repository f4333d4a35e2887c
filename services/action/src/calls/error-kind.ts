import { isDomainError } from '@parley/kernel/errors';
import { kindOfError } from '../custom-actions/call-error-kind.ts';

/** Maps internal reasons to public error kinds, where the names differ. */
const renamed: Record<string, string> = {
  BAD_ARGUMENTS: 'ARGUMENTS_REFUSED',
  TOOL_ARGUMENTS_REFUSED: 'ARGUMENTS_REFUSED',
  CANCELLED: 'CALL_CANCELLED',
  FAILED: 'CALL_FAILED',
};

export function resultKind(kind: string): string {
  return renamed[kind] ?? kind;
}

/** Returns the public kind of an error that ended a call, as documented at `CallResult.error_kind`. */
export function errorKindOf(error: unknown, signal?: AbortSignal): string {
  if (signal?.aborted) return 'CALL_CANCELLED';
  if (isDomainError(error, 'notFound')) return 'NOT_FOUND';
  if (isDomainError(error, 'tooManyRequests')) return 'TOO_MANY_CALLS';
  if (isDomainError(error) && error.reason?.startsWith('CONNECTOR_')) return error.reason;
  return resultKind(kindOfError(error));
}

const maxLength = 2_000;

/** Returns a sentence for people, never text of the remote server. */
export function errorMessageOf(error: unknown, kind: string): string {
  if (kind === 'CALL_CANCELLED') return cancelled;
  return isDomainError(error) ? error.message.slice(0, maxLength).toWellFormed() : 'The call failed';
}

export const cancelled = 'The call was cancelled; it may have had its effect';
export const interrupted = 'The call was begun and interrupted; nobody knows whether it had its effect';
