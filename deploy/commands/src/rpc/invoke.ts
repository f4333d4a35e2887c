import {
  type DescMethod,
  fromBinary,
  fromJsonString,
  type JsonObject,
  type Message,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import type { Caller, Callers } from '@parley/kernel/caller';
import { errorTable } from '@parley/kernel/error-table';
import { badRequest, type ErrorKind, isDomainError } from '@parley/kernel/errors';
import { type Environment, SettingsError } from '@parley/kernel/settings/config';
import type { MeshOptions } from '@parley/kernel/tls/mesh';
import { rpcClient } from '@parley/rpc/client';
import { ClientError, Status } from 'nice-grpc-common';

/** The outputs of a command: results go to stdout, problems to stderr. */
export type Terminal = Record<'stdout' | 'stderr', { write(text: string): unknown }>;

export interface Invocation {
  unit: string;
  address: string;
  callers: Callers;
  mesh: MeshOptions;
  caller: Caller;
  method: DescMethod;
  request: Message;
  timeoutMs: number;
  signal: AbortSignal;
}

/** The error of a refused call. */
export interface Refusal {
  code: string;
  message: string;
  reason: string | undefined;
  fields: object[] | undefined;
  requestId: string;
}

/** Calls a method and prints each response as protobuf JSON. @returns the exit code: 1 if the call failed, 130 if it was interrupted */
export async function invoke(
  { unit, address, callers, mesh, caller, method, request, timeoutMs, signal }: Invocation,
  show: { answer(json: JsonObject): void; refusal(refusal: Refusal): void },
): Promise<number> {
  const isStream = method.methodKind === 'server_streaming';
  // Expects all kinds of errors, so that errors of the unit are printed in full.
  const options = { caller, signal, expectedErrors: Object.keys(errorTable) as ErrorKind[] };
  const client = rpcClient({ definition: definitionOf(method), unit, address: () => address, callers, mesh });
  await client.start();
  try {
    const { once, many } = client.calls;
    const answers = isStream ? many(request, options) : [once(request, { ...options, timeoutMs })];
    for await (const answer of answers) {
      show.answer(toJson(method.output, answer, { alwaysEmitImplicit: true }) as JsonObject);
    }
    return 0;
  } catch (error) {
    if (signal.aborted) return isStream ? 0 : 130;
    if (!isDomainError(error)) throw error;
    const { kind, reason, fields, cause } = error;
    const { code, details } = cause instanceof ClientError ? cause : { code: errorTable[kind].grpc, details: '' };
    const failure = { code: Status[code], message: details || error.message, reason, fields: fields[0] && fields };
    show.refusal({ ...failure, requestId: caller.requestId });
    return 1;
  } finally {
    await client.stop();
  }
}

function definitionOf({ name, parent, input, output }: DescMethod) {
  const wire = {
    path: `/${parent.typeName}/${name}`,
    requestStream: false as const,
    requestSerialize: (message: Message) => toBinary(input, message),
    requestDeserialize: (bytes: Uint8Array): Message => fromBinary(input, bytes),
    responseSerialize: (message: Message) => toBinary(output, message),
    responseDeserialize: (bytes: Uint8Array): Message => fromBinary(output, bytes),
    options: {},
  };
  return { once: { ...wire, responseStream: false as const }, many: { ...wire, responseStream: true as const } };
}

/** Parses a request from JSON. @throws DomainError `invalid` */
export function requestOf({ input, parent: { file } }: DescMethod, json: string): Message {
  try {
    return fromJsonString(input, json);
  } catch (error) {
    throw badRequest(`${error instanceof Error ? error.message : error}; ${file.name}.proto has its fields`);
  }
}

/** Finds addresses of units, and the keys that sign calls to them. */
export interface MeshLookup {
  /** Returns a unit's address. @throws DomainError `invalid` if the address is unknown */
  addressOf(unit: string, env: Environment): string;
  /** Returns an environment whose setting `name` contains the key that signs calls. */
  keysWith(name: string, env: Environment): Environment;
}

/** Returns the name of the setting for a unit's address. */
export function addressSettingOf(unit: string): string {
  return `${unit.toUpperCase()}_RPC_URL`;
}

/** This lookup uses only the settings in the environment. */
export const lookupInSettings: MeshLookup = {
  addressOf(unit, env) {
    const address = env[addressSettingOf(unit)];
    if (address) return address;
    throw badRequest(`${addressSettingOf(unit)}: is missing, which says where ${unit} is`);
  },
  keysWith: (_, env) => env,
};

/**
 * Runs a command, and prints errors about its arguments or settings.
 * @returns the exit code: 2 after such an error, otherwise the exit code of the command
 */
export async function withProblems(terminal: Terminal, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!isDomainError(error, 'invalid') && !(error instanceof SettingsError)) throw error;
    terminal.stderr.write(`${error.message}\n`);
    return 2;
  }
}
