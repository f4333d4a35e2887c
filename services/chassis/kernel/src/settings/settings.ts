import { z } from 'zod';

export interface SettingOptions<Value> {
  /** The value must not appear in a list or a message. */
  secret?: boolean;
  /** What the process uses without a value, in a few words (`PGlite`). Lists show it beside the default. */
  without?: string;
  /** The default if `NODE_ENV` is `production`. */
  productionDefault?: Value;
  /** Whether the setting is required in production, where a process does not fall back to embedded engines. */
  requiredInProduction?: boolean;
  /** The condition under which the setting is required, if that depends on other settings, as Markdown: ``without `SESSION_DATABASE_URL` ``. */
  required?: string;
  /**
   * Returns another setting that the value requires, and the text that it must have. Undefined if the value requires none.
   */
  takes?(value: Value): { name: string; value: string } | undefined;
}

/** One environment variable that a process reads. */
export interface Setting<Value = unknown> {
  readonly kind: 'setting';
  readonly name: string;
  readonly type: z.ZodType<Value>;
  readonly meaning: string;
  readonly options: SettingOptions<Value>;
}

/** Settings that are read only if the variable `name` is set; otherwise their values are undefined. */
export interface OptionalGroup<S extends Settings = Settings> {
  readonly kind: 'optionalGroup';
  readonly name: string;
  readonly settings: S;
  /** Name of one of these settings. If this setting is set without the variable `name`, then `name` was forgotten. */
  readonly takesName?: string | undefined;
}

/** Declared settings. Each key is also the key of the setting's value; groups nest. */
export interface Settings {
  readonly [key: string]: Setting | OptionalGroup | Settings;
}

export type ValuesOf<S> = {
  -readonly [Key in keyof S]: S[Key] extends Setting<infer Value>
    ? Value
    : S[Key] extends OptionalGroup<infer Group>
      ? ValuesOf<Group> | undefined
      : ValuesOf<S[Key]>;
};

/**
 * Declares a setting. The code that reads it, the error at start, `scripts/settings` and the table in SETTINGS.md use this declaration.
 * @param type validates and converts the text of the variable, and has the default. A setting without a default is required, unless its
 * type is optional.
 * @param meaning a sentence or two, in Markdown; has the unit if the setting's name does not have it.
 */
export function setting<T extends z.ZodType>(
  name: string,
  type: T,
  meaning: string,
  options: SettingOptions<z.output<T>> = {},
): Setting<z.output<T>> {
  return { kind: 'setting', name, type: type as z.ZodType<z.output<T>>, meaning, options };
}

/** Declares settings that are required only if the variable `name` is set. `name` itself is one of these settings. */
export function optionalGroup<S extends Settings>(name: string, settings: S, takesName?: string): OptionalGroup<S> {
  return { kind: 'optionalGroup', name, settings, takesName };
}

/** A setting as plain data, for people, charts and checks of an installation. It never holds a configured value. */
export interface ListedSetting {
  name: string;
  /** The type in words, e.g. `port`, or `a | b | c` for an enum. */
  type: string;
  secret: boolean;
  /** The default as text. Undefined if the setting is required, has no default or is a secret. */
  default: string | undefined;
  /** The default if `NODE_ENV` is `production`. Undefined if production has the same default. */
  productionDefault: string | undefined;
  /** What the process uses without a value, in words. */
  without: string | undefined;
  /** When the setting must be given: `always`, `in production`, `with NAME` or `without NAME`, where NAME is another setting. */
  required: string | undefined;
  meaning: string;
}

export function listSettings(declared: Settings, within?: string): ListedSetting[] {
  return Object.values(declared).flatMap((each) => {
    if (each.kind === 'setting') return listed(each, within);
    if (each.kind === 'optionalGroup') return listSettings(each.settings, each.name);
    return listSettings(each, within);
  });
}

function listed(declared: Setting, within: string | undefined): ListedSetting {
  const { name, type, meaning, options } = declared;
  const { secret = false, without, productionDefault } = options;
  return {
    name,
    type: typeName(type),
    secret,
    default: secret ? undefined : textOf(defaultOf(type)),
    productionDefault: textOf(productionDefault),
    without,
    required: whenRequired(declared, within),
    meaning,
  };
}

function whenRequired({ name, type, options }: Setting, within: string | undefined): string | undefined {
  if (options.requiredInProduction) return 'in production';
  if (options.required !== undefined) return options.required;
  if (name === within || type.safeParse(undefined).success) return undefined;
  return within === undefined ? 'always' : `with ${within}`;
}

function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : String(value);
}

function inner({ def }: z.core.$ZodType['_zod']): z.core.$ZodType | undefined {
  const { innerType, in: before } = def as { innerType?: z.core.$ZodType; in?: z.core.$ZodType };
  return innerType ?? before;
}

function defaultOf({ _zod }: z.core.$ZodType): unknown {
  if ('defaultValue' in _zod.def) return _zod.def.defaultValue;
  const next = inner(_zod);
  return next && defaultOf(next);
}

function typeName(type: z.core.$ZodType): string {
  const title = z.globalRegistry.get(type)?.title;
  if (title) return title;
  const next = inner(type._zod);
  if (next) return typeName(next);
  const values = [...(type._zod.values ?? [])];
  return values.length > 0 ? values.join(' | ') : 'text';
}
