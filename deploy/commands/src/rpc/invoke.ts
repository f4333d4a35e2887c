import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
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
import { type Environment, readSettings, SettingsError } from '@parley/kernel/config';
import { errorTable } from '@parley/kernel/error-table';
import { badRequest, type ErrorKind, isDomainError } from '@parley/kernel/errors';
import type { MeshOptions } from '@parley/kernel/mesh';
import { dataFolderSetting } from '@parley/kernel/shared-settings';
import { addressesFile } from '@parley/local/addresses-file';
import { keysFile } from '@parley/local/keys';
import { rpcClient } from '@parley/rpc/client';
import { ClientError, Status } from 'nice-grpc-common';
import { root } from '../root.ts';

/** Where answers and problems are written. */
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

/** What a refused call answers. */
export interface Refusal {
  code: string;
  message: string;
  reason: string | undefined;
  fields: object[] | undefined;
  requestId: string;
}

/** Calls a method and shows each answer in protobuf's JSON. @returns the exit code: 1 where it failed, 130 where it was interrupted */
export async function invoke(
  { unit, address, callers, mesh, caller, method, request, timeoutMs, signal }: Invocation,
  show: { answer(json: JsonObject): void; refusal(refusal: Refusal): void },
): Promise<number> {
  const isStream = method.methodKind === 'server_streaming';
  // Shows the error of the unit in full.
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

/** A request from its JSON. @throws DomainError `invalid` */
export function requestOf({ input, parent: { file } }: DescMethod, json: string): Message {
  try {
    return fromJsonString(input, json);
  } catch (error) {
    throw badRequest(`${error instanceof Error ? error.message : error}; ${file.name}.proto has its fields`);
  }
}

/** Where a unit is: settings take precedence over the addresses in the data folder of the mesh on this machine. */
export function addressOf(unit: string, env: Environment): string {
  const name = `${unit.toUpperCase()}_RPC_URL`;
  const address: string = env[name] || kept(addressesFile, env)[unit]?.rpc;
  if (address) return address;
  throw badRequest(`Where is ${unit}? Start scripts/up, or set ${name}, or PARLEY_DATA_DIR of a running mesh`);
}

/** What the setting `name` of a key is read from: the environment, or the keys in that data folder. */
export function keysWith(name: string, env: Environment): Environment {
  return env[name] ? env : kept(keysFile, env);
}

function kept(file: string, env: Environment) {
  const path = resolve(root, readSettings(env, { folder: dataFolderSetting }).folder, file);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
}

/** Does the work of a command. @returns its exit code: 2 for what cannot be called, whose problem it prints */
export async function withProblems(terminal: Terminal, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!isDomainError(error, 'invalid') && !(error instanceof SettingsError)) throw error;
    terminal.stderr.write(`${error.message}\n`);
    return 2;
  }
}
