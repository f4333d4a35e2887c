import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type DescMethod, fromBinary, fromJsonString, type Message, toBinary, toJson } from '@bufbuild/protobuf';
import { type Caller, createCallers } from '@parley/kernel/caller';
import { type Environment, readSettings, SettingsError } from '@parley/kernel/config';
import { errorTable } from '@parley/kernel/error-table';
import { badRequest, type ErrorKind, isDomainError } from '@parley/kernel/errors';
import { positiveInt } from '@parley/kernel/setting-types';
import { setting } from '@parley/kernel/settings';
import { dataFolderSetting, meshKeySetting } from '@parley/kernel/shared-settings';
import { addressesFile } from '@parley/local/addresses-file';
import { keysFile } from '@parley/local/keys';
import { rpcClient } from '@parley/rpc/client';
import { ClientError, Status } from 'nice-grpc-common';
import { root } from '../root.ts';
import { describe, nameOf, readMethods } from './methods.ts';

/** Where answers and problems are written. */
type Terminal = Record<'stdout' | 'stderr', { write(text: string): unknown }>;

/** The arguments: up to three positionals (unit, method, request) and the caller. */
export interface Typed {
  positionals: string[];
  apiKey?: boolean | undefined;
  /** `tenant`, `user`, `session` and `timeout-ms`. */
  numbers: Environment;
}

/** @returns the exit code: 1 for a call that failed, 2 for one that could not be made, 130 for an interrupted one. */
export async function rpcCommand(typed: Typed, env: Environment, terminal: Terminal, signal: AbortSignal) {
  try {
    const known = readMethods();
    const wanted = `${typed.positionals.slice(0, 2).join(' ')} `.trimStart();
    const found = known.filter((method) => `${nameOf(method)} `.startsWith(wanted));
    if (!found[0]) throw badRequest(`There is no ${wanted.trim()}. There are:\n  ${known.map(nameOf).join('\n  ')}`);
    if (typed.positionals.length < 2) terminal.stdout.write(found.map(describe).join(''));
    else return await call(found[0], typed, env, terminal, signal);
    return 0;
  } catch (error) {
    if (!isDomainError(error, 'invalid') && !(error instanceof SettingsError)) throw error;
    terminal.stderr.write(`${error.message}\n`);
    return 2;
  }
}

function requestOf({ input, parent: { file } }: DescMethod, json: string): Message {
  try {
    return fromJsonString(input, json);
  } catch (error) {
    throw badRequest(`${error instanceof Error ? error.message : error}; ${file.name}.proto has its fields`);
  }
}

async function call(method: DescMethod, typed: Typed, env: Environment, terminal: Terminal, signal: AbortSignal) {
  const [unit = '', , json = '{}'] = typed.positionals;
  const request = requestOf(method, json);
  const isStream = method.methodKind === 'server_streaming';
  const timeout = setting('timeout-ms', positiveInt.default(30_000), 'How long the call may take.');
  const { timeoutMs } = readSettings(typed.numbers, { timeoutMs: timeout });
  // Shows the error of the unit in full.
  const options = { caller: callerOf(typed), signal, expectedErrors: Object.keys(errorTable) as ErrorKind[] };
  const client = rpcClient({ definition: definitionOf(method), unit, ...findUnit(unit, env) });
  await client.start();
  try {
    const { once, many } = client.calls;
    const answers = isStream ? many(request, options) : [once(request, { ...options, timeoutMs })];
    for await (const answer of answers) {
      const json = toJson(method.output, answer, { alwaysEmitImplicit: true });
      terminal.stdout.write(`${JSON.stringify(json, null, isStream ? 0 : 2)}\n`);
    }
    return 0;
  } catch (error) {
    if (signal.aborted) return isStream ? 0 : 130;
    if (!isDomainError(error)) throw error;
    const { kind, reason, fields, cause } = error;
    const { code, details } = cause instanceof ClientError ? cause : { code: errorTable[kind].grpc, details: '' };
    const failure = { code: Status[code], message: details || error.message, reason, fields: fields[0] && fields };
    terminal.stderr.write(`${JSON.stringify({ ...failure, requestId: options.caller.requestId }, null, 2)}\n`);
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

/** The caller: the given user, session or API key, else the mesh itself. */
function callerOf({ numbers, apiKey }: Typed): Caller {
  const id = positiveInt.max(2 ** 31 - 1, 'is no id').optional();
  const ids = {
    tenant: setting('tenant', id, 'The tenant that it is for.'),
    user: setting('user', id, 'The user who asks.'),
    session: setting('session', id, 'The session that asks.'),
  };
  const { tenant: tenantId = null, user: userId, session: sessionId } = readSettings(numbers, ids);
  if ([userId, sessionId, apiKey].filter(Boolean).length > 1)
    throw badRequest('Only one of --user, --session and --api-key can ask');
  if (tenantId === null && (sessionId || apiKey)) throw badRequest('--session and --api-key need --tenant ID');
  const common = { tenantId, requestId: randomUUID() };
  if (userId) return { kind: 'user', userId, displayName: 'scripts/rpc', ...common };
  if (sessionId) return { kind: 'session', sessionId, ...common };
  return apiKey ? { kind: 'apiKey', ...common } : { kind: 'service', service: 'scripts/rpc', ...common };
}

/** Settings take precedence over the addresses in the data folder of the mesh on this machine. */
function findUnit(unit: string, env: Environment) {
  const kept = (file: string) => {
    const path = resolve(root, readSettings(env, { folder: dataFolderSetting }).folder, file);
    return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
  };
  const name = `${unit.toUpperCase()}_RPC_URL`;
  const address: string = env[name] || kept(addressesFile)[unit]?.rpc;
  if (!address)
    throw badRequest(`Where is ${unit}? Start scripts/up, or set ${name}, or PARLEY_DATA_DIR of a running mesh`);
  const { meshKey } = readSettings(env.MESH_KEY ? env : kept(keysFile), { meshKey: meshKeySetting });
  return { address: () => address, callers: createCallers(meshKey) };
}
