import { badRequest, DomainError, isDomainError } from '@parley/kernel/errors';
import type { OutboundReason } from '@parley/outbound/outbound-errors';

export type ConnectorReason = 'CONNECTOR_UNAUTHORIZED' | 'CONNECTOR_UNREACHABLE';

/** The server answered with an HTTP status that is no success. Its text is not kept: it may repeat what was sent. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly status: number;

  constructor(status: number) {
    super(`The server answered with status ${status}`);
    this.status = status;
  }
}

/** The reasons of the outbound guard that a tenant can act on. */
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

/** The time was over before the call's turn came. */
export function noSlotInTime(): DomainError {
  return new DomainError('tooManyRequests', 'The call did not get its turn in time; nothing was sent');
}

/** Whether an error is `tooSlow`, and not the reason of a caller who has left. */
export function isTooSlow(error: unknown): boolean {
  return isDomainError(error, 'unavailable') && error.reason === ('CONNECTOR_UNREACHABLE' satisfies ConnectorReason);
}

/** Translates what has ended a call. Errors of the SDK may quote what was sent or received, so they are no cause. */
export function connectorError(error: unknown): DomainError {
  if (error instanceof StatusError)
    return error.status === 401 || error.status === 403 ? unauthorized() : unreachable(error);
  if (!isDomainError(error)) return unreachable();
  const isOurs = error.reason?.startsWith('CONNECTOR_') || error.kind === 'tooManyRequests';
  return isOurs || keptReasons.has(error.reason) ? error : unreachable(error);
}
