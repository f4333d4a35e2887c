import { isDomainError } from '@parley/kernel/errors';
import type { OutboundReason } from '@parley/outbound/outbound-errors';

/**
 * How a call failed, for a workflow node's `onError`.
 *
 * | kind                     | what happened                                                                    |
 * | ------------------------ | -------------------------------------------------------------------------------- |
 * | `BAD_ARGUMENTS`          | the arguments do not match the schema or the URL; nothing was sent               |
 * | `SCHEMA_INVALID`, `SCHEMA_TOO_SLOW` | the schema cannot check the arguments; nothing was sent               |
 * | `IDENTITY_NOT_LINKED`    | the person in the conversation has not linked the product; nothing was sent      |
 * | `CREDENTIAL_MISSING`     | the action's credential is not provisioned; nothing was sent                     |
 * | `CREDENTIAL_REFUSED`     | the token issuer refused the credential; nothing was sent                        |
 * | `CREDENTIAL_UNAVAILABLE` | the token issuer did not respond; nothing was sent                               |
 * | `UNAUTHORIZED`           | status 401 or 403                                                                |
 * | `NOT_FOUND`              | status 404 or 410                                                                |
 * | `CONFLICT`               | status 409 or 412                                                                |
 * | `RATE_LIMITED`           | status 429; the header `retry-after` may have the pause                          |
 * | `REJECTED`               | any other 4xx                                                                    |
 * | `REMOTE_ERROR`           | status 5xx                                                                       |
 * | `UNEXPECTED_STATUS`      | status 1xx, or a 3xx that is not a redirect                                      |
 * | `OutboundReason`         | from the outbound guard: refused, unreachable, too slow, too large, broken       |
 * | `CANCELLED`              | the caller cancelled the call                                                    |
 * | `FAILED`                 | anything else; the log has the cause                                             |
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

/** Error kinds that this service also uses as the `reason` of its errors. */
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

/** Returns the error kind of an HTTP status; undefined for 2xx. */
export function kindOfStatus(status: number): CallErrorKind | undefined {
  if (status >= 200 && status < 300) return undefined;
  if (status === 401 || status === 403) return 'UNAUTHORIZED';
  if (status === 404 || status === 410) return 'NOT_FOUND';
  if (status === 409 || status === 412) return 'CONFLICT';
  if (status === 429) return 'RATE_LIMITED';
  if (status >= 400 && status < 500) return 'REJECTED';
  return status >= 500 ? 'REMOTE_ERROR' : 'UNEXPECTED_STATUS';
}

/** Returns the kind of an error that `sendAction` throws. */
export function kindOfError(error: unknown, signal?: AbortSignal): CallErrorKind {
  if (isDomainError(error) && isKind(error.reason)) return error.reason;
  return signal?.aborted ? 'CANCELLED' : 'FAILED';
}

function isKind(reason: string | undefined): reason is OutboundReason | CallErrorReason {
  return reason !== undefined && Object.hasOwn(reasons, reason);
}
