import { Status } from 'nice-grpc-common';

/** The gRPC status, GraphQL code and HTTP status of each kind of error. */
export const errorTable = {
  invalid: { grpc: Status.INVALID_ARGUMENT, code: 'BAD_REQUEST', http: 400 },
  unauthenticated: { grpc: Status.UNAUTHENTICATED, code: 'UNAUTHENTICATED', http: 401 },
  forbidden: { grpc: Status.PERMISSION_DENIED, code: 'FORBIDDEN', http: 403 },
  notFound: { grpc: Status.NOT_FOUND, code: 'NOT_FOUND', http: 404 },
  conflict: { grpc: Status.ALREADY_EXISTS, code: 'CONFLICT', http: 409 },
  tooManyRequests: { grpc: Status.RESOURCE_EXHAUSTED, code: 'TOO_MANY_REQUESTS', http: 429 },
  notImplemented: { grpc: Status.UNIMPLEMENTED, code: 'NOT_IMPLEMENTED', http: 501 },
  unavailable: { grpc: Status.UNAVAILABLE, code: 'UNAVAILABLE', http: 503 },
  internal: { grpc: Status.INTERNAL, code: 'INTERNAL', http: 500 },
};

/** The message of every internal error; its cause is only logged. */
export const internalMessage = 'Something went wrong on our side';

/**
 * How a call ended, for metrics. `refused`: the caller is at fault, e.g. because of bad input or a limit. `error`: the platform is at
 * fault.
 */
export type Outcome = 'ok' | 'refused' | 'error';
