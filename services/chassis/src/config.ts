import { z } from 'zod';
import type { Logger } from './log.ts';

/** The environment as a process sees it. */
export type Environment = Record<string, string | undefined>;

/** Settings that cannot be used. The message names every problem at once, a line each. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly problems: string[];

  constructor(problems: string[]) {
    super(`These settings are wrong:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/** What each unit may have behind its own name, asked for where it is needed. */
const namesOfEachUnit = ['RPC_URL', 'GRAPH_URL', 'OPS_URL', 'DATABASE_URL', 'MIGRATIONS_DATABASE_URL'];

/** Begins like a unit's name and is another program's: desktops on X11 set it. */
const foreignName = 'SESSION_MANAGER';

/** The names that have been read from an environment so far. */
const namesRead = new WeakMap<Environment, Set<string>>();

/**
 * Reads one unit's settings: `shape` maps each environment name to a zod type. An empty value counts as not given.
 * @throws SettingsError naming every setting that is missing or wrong.
 */
export function readSettings<S extends z.ZodRawShape>(env: Environment, shape: S): z.infer<z.ZodObject<S>> {
  const names = namesRead.get(env) ?? new Set();
  namesRead.set(env, names);
  for (const name of Object.keys(shape)) names.add(name);
  const given = Object.fromEntries(Object.keys(shape).map((name) => [name, env[name] === '' ? undefined : env[name]]));
  const result = z.object(shape).safeParse(given);
  if (result.success) return result.data;
  throw new SettingsError(result.error.issues.map((issue) => `${issue.path.join('.')}: ${issueText(issue, given)}`));
}

/** Reads several units' settings and reports the problems of all of them together. */
export function readAll<T extends Record<string, () => unknown>>(readers: T): { [K in keyof T]: ReturnType<T[K]> } {
  const problems = new Set<string>();
  const read: Partial<Record<keyof T, unknown>> = {};
  for (const name of Object.keys(readers) as (keyof T)[]) {
    try {
      read[name] = readers[name]?.();
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      for (const problem of error.problems) problems.add(problem);
    }
  }
  if (problems.size > 0) throw new SettingsError([...problems]);
  return read as { [K in keyof T]: ReturnType<T[K]> };
}

/** In production nothing is replaced by a smaller engine unasked. @throws SettingsError naming each that is not given. */
export function requireInProduction(env: Environment, names: string[]): void {
  if (env.NODE_ENV !== 'production') return;
  const missing = names.filter((name) => !env[name]);
  if (missing.length > 0)
    throw new SettingsError(missing.map((name) => `${name}: is missing, and NODE_ENV is production`));
}

/**
 * Variables that begin with the name of one of these units and are no setting, with the setting whose name is nearest: most of them
 * are misspelt. They are no error, because Kubernetes injects such names. To be asked once all settings have been read.
 * @returns nearest settings by variable; undefined where there is no such variable.
 */
export function unknownSettings(env: Environment, units: string[]): Record<string, string> | undefined {
  const prefixes = units.map((unit) => `${unit.toUpperCase()}_`);
  const ofEach = prefixes.flatMap((prefix) => namesOfEachUnit.map((name) => prefix + name));
  const known = new Set([...(namesRead.get(env) ?? []), ...ofEach]);
  const isExpected = (name: string) => known.has(name) || name === foreignName;
  const unknown = Object.keys(env).filter(
    (name) => env[name] && !isExpected(name) && prefixes.some((prefix) => name.startsWith(prefix)),
  );
  if (unknown.length === 0) return undefined;
  return Object.fromEntries(unknown.toSorted().map((name) => [name, nearest(name, [...known].toSorted())]));
}

/** Logs `unknownSettings`, for a process that starts. Their values, which may be secrets, are not in it. */
export function warnOfUnknownSettings(env: Environment, units: string[], log: Pick<Logger, 'warn'>): void {
  const variables = unknownSettings(env, units);
  if (variables) log.warn({ variables }, 'these variables are no settings; beside each stands the nearest setting');
}

function nearest(name: string, known: string[]): string {
  // A shared setting, such as REGIONS, may have been given a unit's name.
  const bare = name.slice(name.indexOf('_') + 1);
  const distances = known.map((each) =>
    // Who left out the end of a name has misspelt nothing.
    each.startsWith(`${name}_`) ? 0 : Math.min(editDistance(name, each), 1 + editDistance(bare, each)),
  );
  return known[distances.indexOf(Math.min(...distances))] ?? '';
}

/** Levenshtein's: the characters to insert, delete or replace to make one of the other. */
function editDistance(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, n) => n);
  for (let row = 0; row < one.length; row += 1) {
    const current = [row + 1];
    for (let n = 0; n < other.length; n += 1) {
      const replaced = (above[n] ?? 0) + (one[row] === other[n] ? 0 : 1);
      current.push(Math.min(replaced, (above[n + 1] ?? 0) + 1, (current[n] ?? 0) + 1));
    }
    above = current;
  }
  return above[other.length] ?? 0;
}

function issueText(issue: z.core.$ZodIssue, given: Record<string, unknown>): string {
  return given[String(issue.path[0])] === undefined ? 'is missing' : issue.message;
}

/** A TCP port; 0 takes any free one. */
export const port = z.coerce.number('is not a number').int('is not a whole number').min(0).max(65_535);
/** A count or a duration in whole milliseconds or seconds, as the setting's name says. */
export const positiveInt = z.coerce.number('is not a number').int('is not a whole number').positive('must be above 0');
/** An http or https URL. */
export const httpUrl = z.url({ protocol: /^https?$/, error: 'is not an http or https URL' });
/** `true` or `false`. */
export const flag = z.enum(['true', 'false'], 'is neither true nor false').transform((value) => value === 'true');
/** Values separated by commas; blanks are dropped. */
export const list = z.string().transform((value) =>
  value
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean),
);
/** A key of at least 32 bytes in base64 or base64url. */
export const secretKey = z
  .string()
  .refine((value) => Buffer.from(value, 'base64').length >= 32, 'must be at least 32 bytes in base64')
  .transform((value) => Buffer.from(value, 'base64'));
