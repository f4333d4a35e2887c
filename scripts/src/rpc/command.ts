import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { type Caller, callerHeader, createCallers } from '@parley/kernel/caller';
import { type Environment, readSettings } from '@parley/kernel/config';
import { badRequest } from '@parley/kernel/errors';
import { positiveInt } from '@parley/kernel/setting-types';
import { setting } from '@parley/kernel/settings';
import { dataFolderSetting, meshKeySetting } from '@parley/kernel/shared-settings';
import { addressesFile } from '@parley/local/addresses-file';
import { keysFile } from '@parley/local/keys';
import { BadRequest, ErrorInfo } from 'nice-grpc-error-details';
import { root } from '../root.ts';

/** The arguments: up to three positionals (unit, method, request) and the caller. */
export interface Typed {
  positionals: string[];
  apiKey?: boolean | undefined;
  /** `tenant`, `user`, `session` and `timeout-ms`. */
  numbers: Environment;
}

const buf = join(root, 'node_modules/.bin/buf');
const curl = ['curl', '--schema', fileURLToPath(import.meta.resolve('@parley/protos/image.binpb'))];

/**
 * Prints what can be called, or the answers of a call.
 * @returns the exit code: 1 for a call that failed, 130 for an interrupted one.
 * @throws DomainError `invalid` or SettingsError for a call that cannot be made.
 */
export async function rpcCommand(typed: Typed, env: Environment): Promise<number> {
  const [unit, name] = typed.positionals;
  // The package of a unit's protos is named after it: parley.session.v1.SessionService/GetTranscript.
  const listed = execFileSync(buf, [...curl, '--list-methods'], { encoding: 'utf8' });
  const methods = [...listed.matchAll(/^parley\.(\w+)\..*\/(\w+)$/gmu)];
  const isKnown = ([, owner, method]: string[]) => owner === unit && (name === undefined || method === name);
  const [path] = methods.find(isKnown) ?? [];
  if (unit === undefined || path === undefined) {
    const known = methods.map(([, owner, method]) => `  ${owner} ${method}`).join('\n');
    if (unit !== undefined)
      throw badRequest(`There is no ${typed.positionals.slice(0, 2).join(' ')}. There are:\n${known}`);
    console.log(known);
  } else if (name === undefined) {
    const protos = globSync(join(root, `protos/parley/${unit}/*/*.proto`)).map((file) => readFileSync(file, 'utf8'));
    console.log(protos.filter((proto) => /^service /mu.test(proto)).join('\n'));
  } else return call(unit, path, typed, env);
  return 0;
}

async function call(unit: string, path: string, typed: Typed, env: Environment): Promise<number> {
  const { address, callers } = findUnit(unit, env);
  const caller = callerOf(typed);
  const timeout = setting('timeout-ms', positiveInt.optional(), 'How long the call may take.');
  const { timeoutMs = 0 } = readSettings(typed.numbers, { timeoutMs: timeout });
  const header = `${callerHeader}: ${await callers.mint(caller, unit)}`;
  const flags = ['--protocol=grpc', '--emit-defaults', `--timeout=${timeoutMs}ms`, '--header=@-'];
  const args = [...curl, ...flags, '--data', typed.positionals[2] ?? '{}', `http://${address}/${path}`];
  // In a process group of its own, because buf is started by a script that does not pass on signals.
  const child = spawn(buf, args, { stdio: ['pipe', 'inherit', 'pipe'], detached: true });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => child.pid && process.kill(-child.pid, signal));
  }
  child.stdin.end(header);
  const [[code], problem] = await Promise.all([once(child, 'close'), text(child.stderr)]);
  process.stderr.write(readable(problem, caller));
  return code === null ? 130 : Math.min(code, 1);
}

/** Decodes the details of an error, e.g. its reason. @param problem the JSON of an error, or a message of buf. */
function readable(problem: string, { requestId }: Caller): string {
  if (!problem.startsWith('{')) return problem;
  const { details = [], ...error }: { details?: { type: string; value: string }[] } = JSON.parse(problem);
  const shown = details.map(({ type, value }) =>
    [ErrorInfo, BadRequest].find(({ $type }) => $type === type)?.decode(Buffer.from(value, 'base64')),
  );
  return `${JSON.stringify({ ...error, details: shown, requestId }, null, 2)}\n`;
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
  return { address: address.split(',')[0], callers: createCallers(meshKey) };
}
