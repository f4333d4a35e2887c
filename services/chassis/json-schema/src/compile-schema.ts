import { isJsonObject } from '@parley/kernel/json';
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { formats } from './formats.ts';
import type { Patterns } from './linear-regexp.ts';

export type Dialect = 'draft-07' | '2020-12';

export interface CompileOptions {
  dialect: Dialect;
  /** Whether to collect all problems of a value, or only the first one. */
  all: boolean;
  /** The patterns of this schema, shared by its compiled forms. */
  patterns: Patterns;
}

const classes = { 'draft-07': Ajv, '2020-12': Ajv2020 };

const options: Options = {
  strict: false,
  logger: false,
  validateFormats: true,
  formats,
  unicodeRegExp: true,
  // Without this option every object would have properties such as `constructor`.
  ownProperties: true,
  // Inlining is disabled, because with inlined references a schema can grow to the square of its size.
  inlineRefs: false,
  loopRequired: 20,
  loopEnum: 20,
};

/**
 * Compiles a schema with its own ajv instance: a shared instance would retain every schema and mix up the `$id`s of tenants. Nothing is
 * fetched, because only ajv's asynchronous compilation can fetch.
 * @throws Error of ajv, or of the engine for regular expressions
 */
export function compileSchema(schema: object, { dialect, all, patterns }: CompileOptions): ValidateFunction {
  const code = {
    // Optimizing doubles the compile time and saves only a fraction of a millisecond per check.
    optimize: false,
    regExp: Object.assign((pattern: string) => patterns.of(pattern), { code: 'linearRegExp' }),
  };
  const ajv = new classes[dialect]({ ...options, code, allErrors: all, meta: false, validateSchema: false });
  ajv.removeKeyword('id'); // ajv rejects this keyword of draft-04
  // `$schema` is removed because the dialect is already chosen, and ajv would look `$schema` up. `$async` is removed because it is an
  // extension of ajv that makes the check a promise.
  const { $schema: _, $async: __, ...rest } = schema as Record<string, unknown>;
  return ajv.compile(rest);
}

/** Validators of schemas against their meta-schema, by dialect. Compiled on first use, which takes 40 ms. */
export function metaSchemas() {
  const compiled = new Map<Dialect, ValidateFunction>();
  return (schema: object, dialect: Dialect): ErrorObject[] => {
    const validate = compiled.get(dialect) ?? metaSchema(dialect);
    compiled.set(dialect, validate);
    return validate(schema) ? [] : (validate.errors ?? []);
  };
}

function metaSchema(dialect: Dialect): ValidateFunction {
  const ajv = new classes[dialect]({ ...options, allErrors: true });
  const validate = ajv.getSchema(String(ajv.defaultMeta()));
  if (!validate) throw new Error(`ajv has no meta-schema of ${dialect}`);
  return validate;
}

/** Returns the dialect named by `$schema`; undefined for an unsupported one. */
export function dialectOf(schema: unknown): Dialect | undefined {
  const named = isJsonObject(schema) ? schema['$schema'] : undefined;
  if (named === undefined) return '2020-12';
  if (typeof named !== 'string') return undefined;
  const [, name] = /^https?:\/\/json-schema\.org\/(draft-07|draft\/2020-12)\/schema#?$/u.exec(named) ?? [];
  return name === undefined ? undefined : name === 'draft-07' ? name : '2020-12';
}
