import { isJsonObject } from '@parley/kernel/json';
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { formats } from './formats.ts';
import type { Patterns } from './linear-regexp.ts';

export type Dialect = 'draft-07' | '2020-12';

export interface CompileOptions {
  dialect: Dialect;
  /** All problems of a value rather than the first one. */
  all: boolean;
  /** Of this schema; they are shared by all that it is compiled to. */
  patterns: Patterns;
}

const classes = { 'draft-07': Ajv, '2020-12': Ajv2020 };

const options: Options = {
  strict: false,
  logger: false,
  validateFormats: true,
  formats,
  unicodeRegExp: true,
  // Else `constructor` and the like would be properties of every object.
  ownProperties: true,
  // A schema whose references are written out can be as large as its square.
  inlineRefs: false,
  loopRequired: 20,
  loopEnum: 20,
};

/**
 * Compiles a schema by an ajv of its own: one that is shared would keep every schema, and let a tenant's `$id` stand for another's.
 * It fetches nothing, because only ajv's asynchronous compilation can.
 * @throws Error of ajv, or of the engine for regular expressions
 */
export function compileSchema(schema: object, { dialect, all, patterns }: CompileOptions): ValidateFunction {
  const code = {
    // Optimising takes twice the time of compiling, and saves a fraction of a millisecond in a check.
    optimize: false,
    regExp: Object.assign((pattern: string) => patterns.of(pattern), { code: 'linearRegExp' }),
  };
  const ajv = new classes[dialect]({ ...options, code, allErrors: all, meta: false, validateSchema: false });
  ajv.removeKeyword('id'); // of draft-04: an error in ajv
  // The dialect is chosen; ajv would look for the meta-schema. `$async` is ajv's own, and makes the check a promise.
  const { $schema: _, $async: __, ...rest } = schema as Record<string, unknown>;
  return ajv.compile(rest);
}

/** What the meta-schema says of schemas, by dialect. Compiling these takes 40 ms, the first time that one is used. */
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

/** By `$schema`; undefined where it names another one. */
export function dialectOf(schema: unknown): Dialect | undefined {
  const named = isJsonObject(schema) ? schema['$schema'] : undefined;
  if (named === undefined) return '2020-12';
  if (typeof named !== 'string') return undefined;
  const [, name] = /^https?:\/\/json-schema\.org\/(draft-07|draft\/2020-12)\/schema#?$/u.exec(named) ?? [];
  return name === undefined ? undefined : name === 'draft-07' ? name : '2020-12';
}
