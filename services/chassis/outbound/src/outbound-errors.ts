import { badRequest, DomainError } from '@parley/kernel/errors';

export type OutboundReason =
  | 'URL_REFUSED'
  | 'HOST_NOT_PUBLIC'
  | 'REDIRECT_REFUSED'
  | 'REMOTE_TOO_LARGE'
  | 'REMOTE_UNREACHABLE'
  | 'REMOTE_TOO_SLOW'
  | 'REMOTE_BROKEN';

export function refusedUrl(problem: string): DomainError {
  return badRequest(`The URL ${problem}`, 'URL_REFUSED' satisfies OutboundReason);
}

export function refusedRedirect(message: string): DomainError {
  return badRequest(message, 'REDIRECT_REFUSED' satisfies OutboundReason);
}

export function notPublicHost(): DomainError {
  return badRequest('The URL must have a host with a public address', 'HOST_NOT_PUBLIC' satisfies OutboundReason);
}

export function tooLarge(maxBytes: number): DomainError {
  return badRequest(`The answer is larger than ${maxBytes} bytes`, 'REMOTE_TOO_LARGE' satisfies OutboundReason);
}

export function unreachable(cause: unknown): DomainError {
  return failed('The host of the URL cannot be reached', 'REMOTE_UNREACHABLE', cause);
}

export function tooSlow(timeoutMs: number): DomainError {
  return failed(`The URL did not answer in full within ${timeoutMs} ms`, 'REMOTE_TOO_SLOW');
}

export function broken(cause: unknown): DomainError {
  return failed('The URL did not answer in valid HTTP', 'REMOTE_BROKEN', cause);
}

function failed(message: string, reason: OutboundReason, cause?: unknown): DomainError {
  return new DomainError('unavailable', message, { reason, cause });
}
