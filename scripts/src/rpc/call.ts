import type { Caller, Callers } from '@parley/chassis/caller';
import { errorTable } from '@parley/chassis/error-table';
import { type ErrorKind, type FieldProblem, isDomainError } from '@parley/chassis/errors';
import { rpcClient } from '@parley/chassis/rpc/client';
import { ClientError, Status } from 'nice-grpc-common';
import type { Method } from './catalogue.ts';
import { responseToJson } from './json-response.ts';

export interface Call {
  method: Method;
  request: object;
  unit: string;
  address: string;
  caller: Caller;
  callers: Callers;
  /** For one answer; streams have none. */
  timeoutMs: number;
  signal: AbortSignal;
}

/** The answer of a call as JSON; of a stream one after the other, until it ends or the signal is aborted. */
export async function* call({ method, unit, address, callers, request, ...rest }: Call): AsyncGenerator<object> {
  const { path, serialize, deserialize } = method.wire;
  const wire = {
    path,
    requestStream: false as const,
    requestSerialize: serialize,
    requestDeserialize: (bytes: Uint8Array): object => bytes, // a server's, like the other of its kind
    responseSerialize: (): Uint8Array => new Uint8Array(),
    responseDeserialize: (bytes: Uint8Array) => responseToJson(method.response, deserialize(Buffer.from(bytes))),
    options: {},
  };
  const definition = {
    once: { ...wire, responseStream: false as const },
    many: { ...wire, responseStream: true as const },
  };
  const client = rpcClient({ definition, unit, address: () => address, callers });
  const { caller, signal, timeoutMs } = rest;
  // Whatever the unit says is for whoever types.
  const options = { caller, signal, passOn: Object.keys(errorTable) as ErrorKind[] };

  await client.start();
  try {
    if (method.answersStream) yield* client.calls.many(request, options);
    else yield await client.calls.once(request, { ...options, timeoutMs });
  } finally {
    await client.stop();
  }
}

/** What a failed call tells. */
export interface CallFailure {
  /** The gRPC status by its name, e.g. `NOT_FOUND`. */
  code: string;
  message: string;
  reason?: string;
  fields?: FieldProblem[];
  /** The id under which the unit's log and traces have the call. */
  requestId: string;
}

/** Undefined for what is no answer of a unit but a bug here. */
export function callFailure(error: unknown, requestId: string): CallFailure | undefined {
  if (!isDomainError(error)) return undefined;
  const { kind, message, reason, fields, cause } = error;
  const isStatus = cause instanceof ClientError;
  return {
    code: Status[isStatus ? cause.code : errorTable[kind].grpc],
    message: isStatus ? cause.details || message : message,
    ...(reason && { reason }),
    ...(fields.length > 0 && { fields }),
    requestId,
  };
}
