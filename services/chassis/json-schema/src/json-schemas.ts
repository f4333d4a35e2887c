import { createHash } from 'node:crypto';
import { DomainError, type FieldProblem } from '@parley/kernel/errors';
import { isJsonObject } from '@parley/kernel/json';
import type { ValidateFunction } from 'ajv';
import { compileSchema, type Dialect, dialectOf, metaSchemas } from './compile-schema.ts';
import { errorFields } from './error-fields.ts';
import { measureJson } from './json-size.ts';
import { patternsOf } from './linear-regexp.ts';
import { tenantCache } from './tenant-cache.ts';
import { timeShares } from './time-shares.ts';
import { withinProcessorTime } from './within-processor-time.ts';

export type JsonSchemas = ReturnType<typeof jsonSchemas>;

export interface SchemaOptions {
  /**
   * Set for schemas that do not come from the tenant, such as those of a connector's tools. Violations of the meta-schema are then
   * ignored, and so are patterns without a linear-time check; an unknown dialect is read as the nearest known one. Default false.
   */
  lenient?: boolean;
  /** The tenant whose share of memory and processor time is charged. Default: no tenant is charged. */
  tenantId?: number;
}

export const schemaLimits = { maxBytes: 65_536, maxDepth: 64, maxValues: 8_000 };
export const argsLimits = { maxBytes: 262_144, maxDepth: 64, maxValues: 50_000 };

/** Maximum compile time of a schema in ms. Lenient schemas get less time, because the tool's server also checks the arguments. */
const compileMs = { strict: 250, lenient: 40 };
const checkMs = 50;

/** Memory for compiled schemas, in bytes. */
const maxMemory = 64 * 2 ** 20;
/**
 * Estimated memory in bytes. `byte`: for each byte of a schema, in two compiled forms. `step`: for each step of a pattern, with its cached
 * states.
 */
const memory = { byte: 36, step: 750 };

/** The processor time that one tenant's schemas may take to compile and to check: `burstMs` at once, and `msPerSecond` in the long run. */
const defaultTime = { burstMs: 2_000, msPerSecond: 50 };

/** Checks with fewer steps than this are short, so they run without a time limit. */
const maxUnwatchedSteps = 50_000;

/** For arguments with more steps than this, only the first problem is reported. Otherwise each value and keyword could add a problem. */
const maxCollectedSteps = 200_000;

/** Time in ms for which a schema that exceeded its time limit is refused. */
const restMs = 60_000;

interface Compiled {
  first: ValidateFunction;
  /** The validator that collects all problems. It is compiled when there are problems to collect; undefined if compiling takes too long. */
  all?: ValidateFunction | undefined;
  compileAll: () => ValidateFunction;
  compileMs: number;
  values: number;
  /** Estimated memory in bytes, including `all`. */
  bytes: number;
  /** Whether a check may take more than linear time. */
  isSlow: boolean;
  restsUntil: number;
}

/** Validates arguments against schemas of tenants and their tool servers. Hostile input costs bounded time and memory. */
export function jsonSchemas({ maxKept = 500, now = () => performance.now(), tenantTime = defaultTime } = {}) {
  const minMemory = Math.floor(maxMemory / maxKept);
  const kept = tenantCache<Compiled | FieldProblem[]>({ max: maxKept, maxSize: maxMemory });
  const metaErrors = metaSchemas();
  const times = timeShares({ ...tenantTime, now });

  function compiled(schema: unknown, { lenient = false, tenantId }: SchemaOptions): Compiled | FieldProblem[] {
    const { problem, values } = measureJson(schema, schemaLimits);
    if (problem) return [{ path: '', message: problem }];
    if (!isJsonObject(schema)) return [{ path: '', message: 'must be a JSON Schema, which is an object' }];
    const text = JSON.stringify(schema);
    const key = `${lenient ? 'lenient' : 'strict'}:${createHash('sha256').update(text).digest('base64')}`;
    const known = kept.get(tenantId, key);
    if (known) return known;
    if (!times.has(tenantId)) throw tooSlow();
    const made = times.take(tenantId, () => compile(schema, text, values, lenient));
    const bytes = Array.isArray(made) ? 0 : made.bytes;
    kept.set(tenantId, key, made, Math.max(minMemory, bytes));
    return made;
  }

  function compile(schema: object, text: string, values: number, lenient: boolean): Compiled | FieldProblem[] {
    const dialect = dialectOf(schema) ?? (lenient ? nearestDialect(schema) : undefined);
    if (!dialect) return [{ path: '$schema', message: 'must be draft-07 or 2020-12' }];
    const patterns = patternsOf({ isLenient: lenient });
    const compiledWith = (all: boolean) => compileSchema(schema, { dialect, all, patterns });
    const limitMs = compileMs[lenient ? 'lenient' : 'strict'];
    // The meta-schema is compiled first, so that this time is not charged to the schema.
    if (!lenient) metaErrors({}, dialect);
    try {
      const first = withinProcessorTime(limitMs, () => {
        const problems = lenient ? [] : errorFields(metaErrors(schema, dialect), '');
        return problems.length > 0 ? problems : compiledWith(false);
      });
      if (!first) return [{ path: '', message: 'takes too long to compile' }];
      if (Array.isArray(first)) return first;
      const bytes = text.length * memory.byte + patterns.steps * memory.step;
      const isSlow = slowKeywords.test(text);
      return { first, compileAll: () => compiledWith(true), compileMs: limitMs, values, bytes, isSlow, restsUntil: 0 };
    } catch (error) {
      return [{ path: '', message: `cannot be compiled: ${reasonOf(error)}` }];
    }
  }

  function check(schema: Compiled, args: object, argsValues: number, tenantId: number | undefined): FieldProblem[] {
    const steps = schema.values * argsValues;
    if (schema.isSlow && schema.restsUntil > now()) throw tooSlow();
    const isQuick = !schema.isSlow && steps <= maxUnwatchedSteps;
    const run = (validate: ValidateFunction): FieldProblem[] => {
      const problemsOf = () => (validate(args) ? [] : errorFields(validate.errors ?? [], ''));
      if (isQuick) return problemsOf();
      if (!times.has(tenantId)) throw tooSlow();
      const problems = times.take(tenantId, () => withinProcessorTime(checkMs, problemsOf));
      if (problems) return problems;
      schema.restsUntil = now() + restMs;
      throw tooSlow();
    };
    try {
      const problems = run(schema.first);
      if (problems.length === 0 || steps > maxCollectedSteps) return problems;
      const all = collecting(schema, tenantId);
      return all ? run(all) : problems;
    } catch (error) {
      // A stack overflow: the references form a cycle that consumes no part of the args.
      throw error instanceof RangeError ? tooSlow(error) : error;
    }
  }

  /**
   * Returns the validator that collects all problems. Undefined if there is no time to compile it; then only the first problem is reported.
   */
  function collecting(schema: Compiled, tenantId: number | undefined): ValidateFunction | undefined {
    if ('all' in schema || !times.has(tenantId)) return schema.all;
    schema.all = times.take(tenantId, () => withinProcessorTime(schema.compileMs, schema.compileAll));
    return schema.all;
  }

  return {
    /**
     * Returns the problems of a schema, by path below `path`; empty if the schema can check arguments.
     * @throws DomainError `invalid` with `SCHEMA_TOO_SLOW` if the tenant has used up its processor time
     */
    schemaProblems(schema: unknown, path: string, options: SchemaOptions = {}): FieldProblem[] {
      const made = compiled(schema, options);
      return Array.isArray(made) ? below(path, made) : [];
    },

    /**
     * Returns the problems of arguments (an object), by path below `path`; empty if there are none. No message quotes a value.
     * @param schema undefined or null: any object is valid
     * @throws DomainError `invalid` with `SCHEMA_INVALID` if `schemaProblems` finds problems of the schema
     * @throws DomainError `invalid` with `SCHEMA_TOO_SLOW` if the check takes too long
     */
    argsProblems(schema: unknown, args: unknown, path: string, options: SchemaOptions = {}): FieldProblem[] {
      const { problem, values } = measureJson(args, argsLimits);
      if (problem) return [{ path, message: problem }];
      if (!isJsonObject(args)) return [{ path, message: 'must be an object' }];
      if (schema === undefined || schema === null) return [];
      const made = compiled(schema, options);
      if (Array.isArray(made)) throw invalidSchema(made);
      return below(path, check(made, args, values, options.tenantId));
    },

    /** The number of cached schemas and their memory. */
    get kept() {
      return kept.size;
    },
    get keptBytes() {
      return kept.bytes;
    },
  };
}

function below(path: string, problems: FieldProblem[]): FieldProblem[] {
  return problems.map((problem) => ({
    ...problem,
    path: [path, problem.path].filter((part) => part !== '').join('.'),
  }));
}

function invalidSchema(problems: FieldProblem[]): DomainError {
  const [first] = below('schema', problems);
  return new DomainError('invalid', `The arguments cannot be checked: ${first?.path} ${first?.message}`, {
    reason: 'SCHEMA_INVALID',
  });
}

function tooSlow(cause?: unknown): DomainError {
  const message = 'The arguments cannot be checked by their schema within the time for it';
  return new DomainError('invalid', message, { reason: 'SCHEMA_TOO_SLOW', cause });
}

/**
 * Schemas of drafts before 2019-09 are read as draft-07. Like draft-07, these drafts have `definitions`, and `items` may be a list of
 * schemas.
 */
function nearestDialect(schema: object): Dialect {
  const named: unknown = '$schema' in schema ? schema.$schema : undefined;
  return typeof named === 'string' && named.includes('draft-0') ? 'draft-07' : '2020-12';
}

/** Keywords whose check can take more than linear time: recursion, patterns, and comparisons of all pairs. */
const slowKeywords = /"(?:\$ref|\$dynamicRef|\$recursiveRef|pattern|patternProperties|uniqueItems|format)":/u;

/** Shortens quotations from the schema that are longer than a name. */
function reasonOf(error: unknown): string {
  if (error instanceof RangeError) return 'it is nested too deeply';
  const text = error instanceof Error ? error.message : 'it is not valid';
  return (text.length > 200 ? `${text.slice(0, 200)}…` : text).toWellFormed();
}
