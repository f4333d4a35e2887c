import type { Logger } from 'pino';
import type { Setting, Settings, ValuesOf } from './settings.ts';

export type Environment = Record<string, string | undefined>;

/** Missing or invalid settings. The message names all problems, one per line. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly problems: string[];

  constructor(problems: string[]) {
    super(`These settings are wrong:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/** Settings that every unit has under its own prefix, read only when needed. */
const namesOfEachUnit = ['RPC_URL', 'GRAPH_URL', 'OPS_URL', 'DATABASE_URL', 'MIGRATIONS_DATABASE_URL'];

/** A variable of X11 desktops; only its name looks like a setting of the session unit. */
const foreignName = 'SESSION_MANAGER';

const namesRead = new WeakMap<Environment, Set<string>>();

/**
 * Reads settings as declared; an empty value counts as missing.
 * @returns the values, in groups as declared.
 * @throws SettingsError naming every setting that is missing or wrong.
 */
export function readSettings<S extends Settings>(env: Environment, declared: S): ValuesOf<S> {
  const problems: string[] = [];
  const values = readGroup(env, declared, problems);
  if (problems.length > 0) throw new SettingsError(problems);
  return values as ValuesOf<S>;
}

function readGroup(env: Environment, group: Settings, problems: string[], within?: string): Record<string, unknown> {
  const values = Object.entries(group).map(([key, each]) => {
    if (each.kind === 'setting') return [key, readOne(env, each, problems, within)];
    if (each.kind !== 'optionalGroup') return [key, readGroup(env, each, problems, within)];
    const read = readGroup(env, each.settings, problems, each.name);
    const { name, takesName } = each;
    if (takesName && env[takesName] && !env[name]) problems.push(`${name}: is missing, and ${takesName} is set`);
    return [key, env[each.name] ? read : undefined];
  });
  return Object.fromEntries(values);
}

function readOne(env: Environment, setting: Setting, problems: string[], within?: string): unknown {
  const { name, type, options } = setting;
  namesReadFrom(env).add(name);
  const given = env[name] || undefined;
  if (given === undefined) {
    const isProduction = env.NODE_ENV === 'production';
    if (isProduction && options.requiredInProduction) {
      problems.push(`${name}: is missing, and NODE_ENV is production`);
      return undefined;
    }
    if (within !== undefined && !env[within]) return undefined;
    if (isProduction && 'productionDefault' in options) return options.productionDefault;
  }
  const { success, data, error } = type.safeParse(given);
  const isBlankNumber = success && typeof data === 'number' && given?.trim() === ''; // z.coerce turns blank text into 0
  if (isBlankNumber) problems.push(`${name}: is not a number`);
  if (success) {
    const taken = data === undefined ? undefined : options.takes?.(data);
    if (taken && env[taken.name] !== taken.value) problems.push(`${name}: ${given} takes ${taken.name}=${taken.value}`);
    return data;
  }
  if (given !== undefined) problems.push(...error.issues.map((issue) => `${name}: ${issue.message}`));
  else problems.push(`${name}: is missing${within === undefined ? '' : `, and ${within} is set`}`);
  return undefined;
}

function namesReadFrom(env: Environment): Set<string> {
  const names = namesRead.get(env) ?? new Set();
  namesRead.set(env, names);
  return names;
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

/**
 * Returns variables that start with the prefix of one of these units and are not settings; most of them are misspelt. They are not an
 * error, because Kubernetes injects such names. Call it after all settings have been read.
 * @returns for each variable the name of the nearest setting; undefined if there are no such variables.
 */
export function unknownSettings(env: Environment, units: string[]): Record<string, string> | undefined {
  const prefixes = units.map((unit) => `${unit.toUpperCase()}_`);
  const ofEach = prefixes.flatMap((prefix) => namesOfEachUnit.map((name) => prefix + name));
  const known = new Set([...namesReadFrom(env), ...ofEach]);
  const isExpected = (name: string) => known.has(name) || name === foreignName;
  const unknown = Object.keys(env).filter(
    (name) => env[name] && !isExpected(name) && prefixes.some((prefix) => name.startsWith(prefix)),
  );
  if (unknown.length === 0) return undefined;
  return Object.fromEntries(unknown.toSorted().map((name) => [name, nearest(name, [...known].toSorted())]));
}

/** Maximum edit distance between a variable and the setting that it probably means. */
const fewEdits = 2;

/**
 * Finds variables whose names differ from that of a setting by one or two letters.
 * @returns the setting's name, by the variable's name
 */
export function misspeltSettings(env: Environment, settings: readonly string[]): Record<string, string> {
  const unknown = Object.keys(env).filter((name) => env[name] && name.includes('_') && !settings.includes(name));
  const pairs = unknown.toSorted().flatMap((name) => {
    const meant = settings.find((each) => each.includes('_') && editDistance(name, each) <= fewEdits);
    return meant === undefined ? [] : [[name, meant] as const];
  });
  return Object.fromEntries(pairs);
}

/** Logs `unknownSettings` when a process starts, without their values, which may be secrets. */
export function warnOfUnknownSettings(env: Environment, units: string[], log: Pick<Logger, 'warn'>): void {
  const variables = unknownSettings(env, units);
  if (variables) log.warn({ variables }, 'unknown settings; each with the nearest setting');
}

function nearest(name: string, known: string[]): string {
  // The operator may have prefixed a shared setting, such as REGIONS, with a unit's name.
  const bare = name.slice(name.indexOf('_') + 1);
  const distances = known.map((each) =>
    // A setting that extends the given name by further words is the likeliest match.
    each.startsWith(`${name}_`) ? 0 : Math.min(editDistance(name, each), 1 + editDistance(bare, each)),
  );
  return known[distances.indexOf(Math.min(...distances))] ?? '';
}

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
