import { adminCommand } from '@parley/commands/admin/admin-command';
import { adminOptions, maxWords, typedAdmin } from '@parley/commands/admin/admin-options';
import type { Environment } from '@parley/kernel/settings/config';
import { parseOptions } from '../../read-options.ts';
import { lookupOnMachine } from '../../rpc/local-mesh.ts';

export interface Typing {
  env?: Environment;
  /** The text for stdin. */
  input?: string;
}

/** Runs `scripts/admin …` and returns its output. */
export async function typed(args: string[], { env = {}, input = '' }: Typing = {}) {
  const seen = { stdout: '', stderr: '' };
  const terminal = {
    stdout: { write: (text: string) => (seen.stdout += text) },
    stderr: { write: (text: string) => (seen.stderr += text) },
    read: async () => input,
  };
  const options = read(args);
  if (typeof options === 'string') return { code: 2, ...seen, stderr: options };
  const code = await adminCommand(typedAdmin(options), {
    env,
    lookup: lookupOnMachine,
    terminal,
    signal: new AbortController().signal,
  });
  return { code, ...seen };
}

/** Returns the options, or the problem with them. */
function read(args: string[]) {
  try {
    const { values, positionals } = parseOptions(args, adminOptions, maxWords);
    return { ...values, positionals };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
