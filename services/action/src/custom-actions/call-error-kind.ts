import { isDomainError } from '@parley/kernel/errors';
import type { OutboundReason } from '@parley/outbound/outbound-errors';

/**
 * How a call failed, for a workflow node's `onError`.
 *
 * | kind                     | what happened                                                                    |
 * | ------------------------ | -------------------------------------------------------------------------------- |
 * | `BAD_ARGUMENTS`          | they do not fit the schema or the URL; nothing was sent                          |
 * | `SCHEMA_INVALID`, `SCHEMA_TOO_SLOW` | the schema cannot check them; nothing was sent                        |
 * | `IDENTITY_NOT_LINKED`    | the person in the conversation has no identity of the product; nothing was sent  |
 * | `CREDENTIAL_MISSING`     | the action's credential is not provisioned here; nothing was sent                |
 * | `CREDENTIAL_REFUSED`     | whoever issues tokens for it refuses; nothing was sent                           |
 * | `CREDENTIAL_UNAVAILABLE` | whoever issues tokens for it does not answer; nothing was sent                   |
 * | `UNAUTHORIZED`           | answered 401 or 403                                                              |
 * | `NOT_FOUND`              | answered 404 or 410                                                              |
 * | `CONFLICT`               | answered 409 or 412                                                              |
 * | `RATE_LIMITED`           | answered 429; `retry-after` may say for how long                                 |
 * | `REJECTED`               | answered with another 4xx                                                        |
 * | `REMOTE_ERROR`           | answered with 5xx                                                                |
 * | `UNEXPECTED_STATUS`      | answered with 1xx or 3xx that is no redirect                                     |
 * | those of the guard       | see `OutboundReason`: refused, unreachable, too slow, too large, broken          |
 * | `CANCELLED`              | whoever asked for the call has left                                              |
 * | `FAILED`                 | anything else, of which the log has the cause                                    |
 *
 * After `REMOTE_*`, `UNEXPECTED_STATUS` and `CANCELLED` the call may have had its effect.
 */
export type CallErrorKind =
  | OutboundReason
  | CallErrorReason
  | 'UNAUTHORIZED'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'RATE_LIMITED'
  | 'REJECTED'
  | 'REMOTE_ERROR'
  | 'UNEXPECTED_STATUS'
  | 'CANCELLED'
  | 'FAILED';

/** Kinds that are also the `reason` of our own errors. */
export type CallErrorReason =
  | 'BAD_ARGUMENTS'
  | 'SCHEMA_INVALID'
  | 'SCHEMA_TOO_SLOW'
  | 'IDENTITY_NOT_LINKED'
  | 'CREDENTIAL_MISSING'
  | 'CREDENTIAL_REFUSED'
  | 'CREDENTIAL_UNAVAILABLE';

const reasons: Record<OutboundReason | CallErrorReason, true> = {
  BAD_ARGUMENTS: true,
  SCHEMA_INVALID: true,
  SCHEMA_TOO_SLOW: true,
  IDENTITY_NOT_LINKED: true,
  CREDENTIAL_MISSING: true,
  CREDENTIAL_REFUSED: true,
  CREDENTIAL_UNAVAILABLE: true,
  URL_REFUSED: true,
  HOST_NOT_PUBLIC: true,
  REDIRECT_REFUSED: true,
  REMOTE_TOO_LARGE: true,
  REMOTE_UNREACHABLE: true,
  REMOTE_TOO_SLOW: true,
  REMOTE_BROKEN: true,
};

/** The kind of an HTTP status; undefined for 2xx. */
export function kindOfStatus(status: number): CallErrorKind | undefined {
  if (status >= 200 && status < 300) return undefined;
  if (status === 401 || status === 403) return 'UNAUTHORIZED';
  if (status === 404 || status === 410) return 'NOT_FOUND';
  if (status === 409 || status === 412) return 'CONFLICT';
  if (status === 429) return 'RATE_LIMITED';
  if (status >= 400 && status < 500) return 'REJECTED';
  return status >= 500 ? 'REMOTE_ERROR' : 'UNEXPECTED_STATUS';
}

/** The kind of an error that `sendAction` throws. */
export function kindOfError(error: unknown, signal?: AbortSignal): CallErrorKind {
  if (isDomainError(error) && isKind(error.reason)) return error.reason;
  return signal?.aborted ? 'CANCELLED' : 'FAILED';
}

function isKind(reason: string | undefined): reason is OutboundReason | CallErrorReason {
  return reason !== undefined && Object.hasOwn(reasons, reason);
}
