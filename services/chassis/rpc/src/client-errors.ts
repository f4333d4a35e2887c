import { errorTable, internalMessage } from '@parley/kernel/error-table';
import { DomainError, type DomainErrorDetails, type ErrorKind } from '@parley/kernel/errors';
import { isAbortError } from '@parley/kernel/timing/abort';
import type { CallOptions, ClientMiddlewareCall } from 'nice-grpc-common';
import { ClientError, Status } from 'nice-grpc-common';
import { BadRequest, ErrorInfo, RichClientError } from 'nice-grpc-error-details';
import { errorDomain } from './server-errors.ts';

/** Statuses of a call that no handler has answered. */
const unansweredStatuses = new Set([
  Status.UNAVAILABLE,
  Status.DEADLINE_EXCEEDED,
  // The status of a server that stops and cancels open calls. Our own cancellation is an AbortError.
  Status.CANCELLED,
  // The status of a server of the previous version, which does not have the method yet.
  Status.UNIMPLEMENTED,
]);

export interface ExpectedErrors {
  /**
   * Kinds of errors that the calling use case handles. These errors and `unavailable` are thrown as the handler answered them. Every other
   * kind becomes `internal`, because the caller's own input did not cause it.
   */
  expectedErrors?: ErrorKind[];
}

/** Turns an error that the handler answered into a DomainError, so that the outer retry does not repeat the call. */
export function answeredErrors(service: string) {
  return async function* <Request, Response>(
    call: ClientMiddlewareCall<Request, Response>,
    { expectedErrors = [], ...options }: CallOptions & ExpectedErrors,
  ) {
    try {
      return yield* call.next(call.request, options);
    } catch (error) {
      const { kind, reason, fields } = error instanceof RichClientError ? detailsOf(error) : {};
      if (!kind || !(error instanceof ClientError)) throw error;
      if (kind === 'unavailable') throw unavailableError(service, error, reason);
      if (expectedErrors.includes(kind)) throw new DomainError(kind, error.details, { reason, fields, cause: error });
      throw new DomainError('internal', internalMessage, { reason, cause: error });
    }
  };
}

/**
 * Converts a failure of a call to a DomainError, unless the handler has answered it. An abort by the caller's own signal stays an
 * AbortError.
 */
export function clientErrors(service: string) {
  return async function* <Request, Response>(call: ClientMiddlewareCall<Request, Response>, options: CallOptions) {
    try {
      return yield* call.next(call.request, options);
    } catch (error) {
      if (isAbortError(error) || !(error instanceof ClientError)) throw error;
      if (unansweredStatuses.has(error.code)) throw unavailableError(service, error);
      throw new DomainError('internal', internalMessage, { cause: error });
    }
  };
}

function unavailableError(service: string, cause: ClientError, reason?: string): DomainError {
  return new DomainError('unavailable', `${service} is not available`, { cause, reason });
}

/** Returns the details that `serverErrors` added to the status; empty if the error is not from one of our handlers. */
function detailsOf({ extra: details }: RichClientError): DomainErrorDetails & { kind?: ErrorKind | undefined } {
  const info = details.find((detail): detail is ErrorInfo => detail.$type === ErrorInfo.$type);
  if (info?.domain !== errorDomain) return {};
  const bad = details.find((detail): detail is BadRequest => detail.$type === BadRequest.$type);
  const kind = info.metadata.kind;
  return {
    kind: kind && kind in errorTable ? (kind as ErrorKind) : undefined,
    reason: info.reason || undefined,
    fields: bad?.fieldViolations.map(({ field, description }) => ({ path: field, message: description })),
  };
}
