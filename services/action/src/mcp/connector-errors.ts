import { badRequest, DomainError, isDomainError } from '@parley/kernel/errors';
import type { OutboundReason } from '@parley/outbound/outbound-errors';

export type ConnectorReason = 'CONNECTOR_UNAUTHORIZED' | 'CONNECTOR_UNREACHABLE';

/** The server responded with an HTTP error. The response body is not kept, because it may echo the request. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly status: number;

  constructor(status: number) {
    super(`The server answered with status ${status}`);
    this.status = status;
  }
}

/** Reasons of the outbound guard that are reported to the tenant, who can fix their cause. */
const keptReasons = new Set<string | undefined>([
  'URL_REFUSED',
  'HOST_NOT_PUBLIC',
  'REDIRECT_REFUSED',
  'REMOTE_TOO_LARGE',
] satisfies OutboundReason[]);

export function unauthorized(): DomainError {
  return badRequest('The connector refuses its credential', 'CONNECTOR_UNAUTHORIZED' satisfies ConnectorReason);
}

export function unreachable(cause?: unknown): DomainError {
  const reason: ConnectorReason = 'CONNECTOR_UNREACHABLE';
  return new DomainError('unavailable', 'The connector cannot be reached, or gave no valid answer', { reason, cause });
}

export function tooSlow(timeoutMs: number): DomainError {
  const reason: ConnectorReason = 'CONNECTOR_UNREACHABLE';
  return new DomainError('unavailable', `The connector did not answer within ${timeoutMs} ms`, { reason });
}

/** Returns the error of a call whose time limit passed while the call was in the queue. */
export function noSlotInTime(): DomainError {
  return new DomainError('tooManyRequests', 'The call did not get its turn in time; nothing was sent');
}

/** Reports whether the reason of an aborted signal means that a time limit passed (`tooSlow`). If not, the caller cancelled. */
export function isTooSlow(error: unknown): boolean {
  return isDomainError(error, 'unavailable') && error.reason === ('CONNECTOR_UNREACHABLE' satisfies ConnectorReason);
}

/** Converts an error that ended a call. An SDK error is not kept as the cause, because it may quote the request or response. */
export function connectorError(error: unknown): DomainError {
  if (error instanceof StatusError)
    return error.status === 401 || error.status === 403 ? unauthorized() : unreachable(error);
  if (!isDomainError(error)) return unreachable();
  const isOurs = error.reason?.startsWith('CONNECTOR_') || error.kind === 'tooManyRequests';
  return isOurs || keptReasons.has(error.reason) ? error : unreachable(error);
}
