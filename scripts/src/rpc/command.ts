import { randomUUID } from 'node:crypto';
import type { DescMethod } from '@bufbuild/protobuf';
import { invoke, requestOf, type Terminal, withProblems } from '@parley/commands/rpc/invoke';
import { describe, nameOf, readMethods } from '@parley/commands/rpc/methods';
import { type Caller, createCallers } from '@parley/kernel/caller';
import { badRequest } from '@parley/kernel/errors';
import { type Environment, readSettings } from '@parley/kernel/settings/config';
import { positiveInt } from '@parley/kernel/settings/setting-types';
import { setting } from '@parley/kernel/settings/settings';
import { meshKeySetting } from '@parley/kernel/settings/shared-settings';
import { readMesh } from '@parley/kernel/tls/mesh';
import { lookupOnMachine } from './local-mesh.ts';

/** The arguments: up to three positionals (unit, method, request) and the caller. */
export interface Typed {
  positionals: string[];
  apiKey?: boolean | undefined;
  /** The options `tenant`, `user`, `session` and `timeout-ms`. */
  numbers: Environment;
}

/** Runs the command. @returns the exit code: 1 for a failed call, 2 for a call that could not be made, 130 for an interrupted call. */
export function rpcCommand(typed: Typed, env: Environment, terminal: Terminal, signal: AbortSignal): Promise<number> {
  return withProblems(terminal, async () => {
    const known = readMethods();
    const wanted = `${typed.positionals.slice(0, 2).join(' ')} `.trimStart();
    const found = known.filter((method) => `${nameOf(method)} `.startsWith(wanted));
    if (!found[0]) throw badRequest(`There is no ${wanted.trim()}. There are:\n  ${known.map(nameOf).join('\n  ')}`);
    if (typed.positionals.length >= 2) return call(found[0], typed, env, terminal, signal);
    terminal.stdout.write(found.map(describe).join(''));
    return 0;
  });
}

async function call(method: DescMethod, typed: Typed, env: Environment, terminal: Terminal, signal: AbortSignal) {
  const [unit = '', , json = '{}'] = typed.positionals;
  const request = requestOf(method, json);
  const timeout = setting('timeout-ms', positiveInt.default(30_000), 'How long the call may take.');
  const { timeoutMs } = readSettings(typed.numbers, { timeoutMs: timeout });
  const caller = callerOf(typed);
  const address = lookupOnMachine.addressOf(unit, env);
  const { meshKey } = readSettings(lookupOnMachine.keysWith('MESH_KEY', env), { meshKey: meshKeySetting });
  const indent = method.methodKind === 'server_streaming' ? 0 : 2;
  return invoke(
    { unit, address, callers: createCallers(meshKey), mesh: readMesh(env), caller, method, request, timeoutMs, signal },
    {
      answer: (answer) => terminal.stdout.write(`${JSON.stringify(answer, null, indent)}\n`),
      refusal: (refusal) => terminal.stderr.write(`${JSON.stringify(refusal, null, 2)}\n`),
    },
  );
}

/** Returns the caller: the given user, session or API key, else the mesh itself. */
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
