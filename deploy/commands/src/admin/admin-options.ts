import type { TypedAdmin } from './admin-command.ts';
import { adminCommands, filters, wordsOf } from './commands.ts';

const narrowing = Object.fromEntries(filters.map((name) => [name, { type: 'string' as const }]));

/** Options that `scripts/admin` accepts for every command. */
export const adminOptions = { as: { type: 'string' }, json: { type: 'boolean' }, ...narrowing } as const;

/** The number of words in the longest command, including its arguments. */
export const maxWords = Math.max(
  ...adminCommands.map(([typed]) => wordsOf(typed).name.length + wordsOf(typed).wanted.length),
);

interface ReadOptions extends Record<string, unknown> {
  positionals: string[];
  as?: string | undefined;
  json?: boolean | undefined;
}

/** Converts the parsed options for `adminCommand`. */
export function typedAdmin({ positionals, as, json = false, ...given }: ReadOptions): TypedAdmin {
  return { positionals, as, json, filters: given as TypedAdmin['filters'] };
}
