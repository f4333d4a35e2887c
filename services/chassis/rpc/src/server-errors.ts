import { errorTable, internalMessage, type Outcome } from '@parley/kernel/error-table';
import { isDomainError } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { CallContext, ServerMiddlewareCall } from 'nice-grpc-common';
import { ServerError, Status } from 'nice-grpc-common';
import { BadRequest, ErrorInfo, RichServerError } from 'nice-grpc-error-details';

/** The `domain` of our ErrorInfo details; clients ignore other domains. */
export const errorDomain = 'parley';

/**
 * Turns an error of a handler into a gRPC status. `kind`, `reason` and `fields` of a DomainError are sent as google.rpc ErrorInfo and
 * BadRequest. Any other error is a bug: it is logged here and sent as INTERNAL without its cause.
 */
export function serverErrors(log: Logger) {
  return async function* <Request, Response>(call: ServerMiddlewareCall<Request, Response>, context: CallContext) {
    try {
      return yield* call.next(call.request, context);
    } catch (error) {
      if (error instanceof ServerError) throw error;
      // The client no longer receives a status, and the library would print any other error with its stack.
      if (context.signal.aborted) throw new ServerError(Status.CANCELLED, 'The client has cancelled the call');
      if (!isDomainError(error)) {
        log.error({ err: error, method: call.method.path }, 'call failed');
        throw new ServerError(errorTable.internal.grpc, internalMessage);
      }
      if (error.kind === 'internal' || error.kind === 'unavailable') {
        log.warn({ err: error, method: call.method.path }, 'call failed');
      }
      throw new RichServerError(errorTable[error.kind].grpc, error.message, [
        ErrorInfo.fromPartial({ domain: errorDomain, reason: error.reason ?? '', metadata: { kind: error.kind } }),
        BadRequest.fromPartial({
          fieldViolations: error.fields.map(({ path, message }) => ({ field: path, description: message })),
        }),
      ]);
    }
  };
}

const refusals = new Set(Object.values(errorTable).flatMap(({ grpc, http }) => (http < 500 ? grpc : [])));
refusals.delete(errorTable.unauthenticated.grpc); // not a refusal: here only units authenticate, never clients

/** Returns the outcome of a call that threw an error. */
export function outcomeOf(error: unknown): Outcome {
  return error instanceof ServerError && refusals.has(error.code) ? 'refused' : 'error';
}
