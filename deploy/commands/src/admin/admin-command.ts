import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import { createCallers } from '@parley/kernel/caller';
import { badRequest } from '@parley/kernel/errors';
import { type Environment, readSettings } from '@parley/kernel/settings/config';
import { operatorKeySetting } from '@parley/kernel/settings/shared-settings';
import { readMesh } from '@parley/kernel/tls/mesh';
import { invoke, type MeshLookup, requestOf, type Terminal, withProblems } from '../rpc/invoke.ts';
import { nameOf, readOperatorMethods } from '../rpc/methods.ts';
import { commandOf, fieldOf, wordsOf } from './commands.ts';
import { printable, shown } from './show.ts';

export interface TypedAdmin {
  positionals: string[];
  json: boolean;
  /** Name of the operator, for the audit log. Default: the user of the operating system. */
  as?: string | undefined;
  /** The filters of a command that lists objects, by name. */
  filters: Environment;
}

type AdminTerminal = Terminal & {
  /** Reads the standard input until its end. */
  read(): Promise<string>;
};

interface AdminContext {
  env: Environment;
  lookup: MeshLookup;
  terminal: AdminTerminal;
  signal: AbortSignal;
}

/**
 * Runs an operator command.
 * @returns the exit code: 1 if the call failed, 2 if the arguments or settings are wrong, 130 if it was interrupted
 */
export function adminCommand(typed: TypedAdmin, { env, lookup, terminal, signal }: AdminContext) {
  return withProblems(terminal, async () => {
    const { positionals } = typed;
    const [usage = '', calls = '', , always] = commandOf(positionals) ?? [];
    const [called = '', unit = 'identity'] = calls.split(' ').toReversed();
    const method = readOperatorMethods().find((each) => nameOf(each) === `${unit} ${called}`);
    if (!method) throw badRequest(`There is no ${positionals[0] ?? ''}. See scripts/admin --help`);
    const { name, wanted, fromInput } = wordsOf(usage);
    const given = positionals.slice(name.length);
    if (given.length !== wanted.length) throw badRequest(`Type it as: scripts/admin ${usage}`);
    const fields: Record<string, unknown> = { ...always, ...typed.filters };
    for (const [n, word] of wanted.entries()) fields[fieldOf[word] ?? ''] = word === 'USD' ? e8Of(given[n]) : given[n];
    const address = lookup.addressOf(unit, env);
    const callers = createCallers(operatorKey(lookup.keysWith('OPERATOR_KEY', env)));
    const caller = {
      kind: 'operator' as const,
      displayName: typed.as ?? userName(),
      tenantId: null,
      requestId: randomUUID(),
    };
    if (fromInput) fields[fieldOf[fromInput] ?? ''] = (await terminal.read()).replace(/\r?\n$/, '');
    const request = requestOf(method, JSON.stringify(fields));
    return invoke(
      { unit, address, callers, mesh: readMesh(env), caller, method, request, timeoutMs: 30_000, signal },
      {
        answer: (json) => terminal.stdout.write(typed.json ? jsonOf(json) : shown(json, method.output)),
        refusal: (refusal) =>
          terminal.stderr.write(typed.json ? jsonOf(refusal) : `${printable(refusal.message)} (${refusal.code})\n`),
      },
    );
  });
}

/** Escapes control characters. Names that users chose may contain some, and a terminal would act on such characters. */
function jsonOf(value: object): string {
  const escaped = (text: string) =>
    Array.from({ length: text.length }, (_, n) => `\\u${text.charCodeAt(n).toString(16).padStart(4, '0')}`).join('');
  return `${JSON.stringify(value, null, 2).replaceAll(/[\x7f-\x9f\p{Cf}\u2028\u2029]/gu, escaped)}\n`;
}

function e8Of(usd = ''): string {
  const [, whole, cents = ''] = /^(\d{1,9})(?:\.(\d{1,2}))?$/.exec(usd) ?? [];
  if (whole === undefined) throw badRequest(`USD must be an amount such as 25 or 25.50`);
  return `${whole}${cents.padEnd(8, '0')}`;
}

function operatorKey(env: Environment): Uint8Array {
  const { key } = readSettings(env, { key: operatorKeySetting });
  if (!key)
    throw badRequest(
      'OPERATOR_KEY: is missing. It is that of identity, action and session, or in the data folder of a running mesh',
    );
  return key;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    throw badRequest('Who are you? This machine does not know; say it by --as NAME');
  }
}
