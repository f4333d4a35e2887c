import { isAbortError } from '@parley/kernel/abort';
import { errorTable, internalMessage } from '@parley/kernel/error-table';
import { DomainError, type ErrorKind, unavailable } from '@parley/kernel/errors';
import type { CallOptions, ClientMiddlewareCall } from 'nice-grpc-common';
import { ClientError, Status } from 'nice-grpc-common';
import { BadRequest, ErrorInfo, RichClientError } from 'nice-grpc-error-details';
import { errorDomain } from './server-errors.ts';

/** A call that did not come to an end at its server, so that it may be made again where that is safe. */
const unanswered = new Set([
  Status.UNAVAILABLE,
  Status.DEADLINE_EXCEEDED,
  // Not by us, whose own cancellation is an AbortError: a server that stops cuts what has not ended in time.
  Status.CANCELLED,
]);

export interface ExpectedErrors {
  /**
   * The kinds of error that the use case can answer for and wants to see as they are. `unavailable` always passes; every
   * other kind becomes `internal`, so that a callee's refusal of *us* never reads as a refusal of our caller.
   */
  expectedErrors?: ErrorKind[];
}

/** Turns a failed call into a DomainError. An abort by the caller's own signal stays an AbortError. */
export function clientErrors(service: string) {
  return async function* <Request, Response>(
    call: ClientMiddlewareCall<Request, Response>,
    { expectedErrors = [], ...options }: CallOptions & ExpectedErrors,
  ) {
    try {
      return yield* call.next(call.request, options);
    } catch (error) {
      if (isAbortError(error) || !(error instanceof ClientError)) throw error;
      if (unanswered.has(error.code)) {
        throw new DomainError('unavailable', `${service} is not available`, {
          cause: error,
          reason: detailsOf(error).reason,
        });
      }
      const { kind, reason, fields } = detailsOf(error);
      if (kind && expectedErrors.includes(kind))
        throw new DomainError(kind, error.details, { reason, fields, cause: error });
      if (kind === 'unavailable') throw unavailable(error.details, error);
      throw new DomainError('internal', internalMessage, { reason, cause: error });
    }
  };
}

/** Whether a call failed because its server knows no such method: it is of a version before. */
export function isUnimplemented(error: unknown): boolean {
  const cause = error instanceof DomainError ? error.cause : error;
  return cause instanceof ClientError && cause.code === Status.UNIMPLEMENTED;
}

function detailsOf(error: ClientError): {
  kind?: ErrorKind;
  reason?: string;
  fields?: { path: string; message: string }[];
} {
  const details = error instanceof RichClientError ? error.extra : [];
  const info = details.find((detail): detail is ErrorInfo => detail.$type === ErrorInfo.$type);
  if (info?.domain !== errorDomain) return {};
  const bad = details.find((detail): detail is BadRequest => detail.$type === BadRequest.$type);
  const kind = info.metadata.kind;
  return {
    ...(kind && kind in errorTable && { kind: kind as ErrorKind }),
    ...(info.reason && { reason: info.reason }),
    ...(bad && {
      fields: bad.fieldViolations.map(({ field, description }) => ({ path: field, message: description })),
    }),
  };
}
