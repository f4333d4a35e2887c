import { z } from 'zod';
import { invalid } from './errors.ts';
import { codePoints, isShapeless, storageProblem } from './input-checks.ts';

/**
 * Validates an input by its schema and returns the schema's output. The result does not contain omitted or undefined fields, so that a
 * partial update can spread the result over the stored row. The schema must have exactly the fields of the input's generated type and
 * accept all their values; otherwise the call does not compile.
 * @param path of the input among the arguments; '' for the arguments themselves.
 * @throws DomainError `invalid` with every problem, as `fields: [{path, message}]`.
 */
export function parseInput<Schema extends z.ZodType, Input extends z.input<Schema>>(
  schema: Schema & SameFields<z.input<Schema>, Input>,
  input: Input,
  path = 'input',
): Given<z.output<Schema>> {
  const { success, data, error } = schema.safeParse(input, { error: defaultMessage });
  if (!success) {
    const root = path === '' ? [] : [path];
    throw invalid(
      ...error.issues.map((issue) => ({ path: [...root, ...issue.path].join('.'), message: issue.message })),
    );
  }
  const given = data as Record<string, unknown>;
  for (const field in given) if (given[field] === undefined) delete given[field];
  return given as Given<z.output<Schema>>;
}

/**
 * `unknown` if schema and input have the same fields. Otherwise a type that no schema satisfies, so that the compiler's error lists
 * the differing fields.
 */
type SameFields<Schema, Input> = [Differing<Schema, Input>] extends [never]
  ? unknown
  : { fieldsThatDiffer: Differing<Schema, Input> };
type Differing<A, B> = Exclude<keyof A, keyof B> | Exclude<keyof B, keyof A>;

/** Makes properties optional if they may be undefined, for `exactOptionalPropertyTypes`. */
type Given<T> = { [Field in keyof T as undefined extends T[Field] ? never : Field]: T[Field] } & {
  [Field in keyof T as undefined extends T[Field] ? Field : never]?: Exclude<T[Field], undefined>;
};

/** Returns the input without its null fields, for an operation that treats null like an omitted field. */
export function withoutNulls<Input extends object>(
  input: Input,
): { [Field in keyof Input]: Exclude<Input[Field], null> } {
  const given = Object.entries(input).filter(([, value]) => value !== null);
  return Object.fromEntries(given) as { [Field in keyof Input]: Exclude<Input[Field], null> };
}

/** A schema that refuses null although its input type allows null. Generated update inputs have such types. */
type NeverNull<T> = z.ZodType<T, T | null>;

/** Storable text that is not blank, of `min` to `max` Unicode code points. */
export function text(max: number, min = 1): NeverNull<string> {
  return z.string().check(rule((value) => textProblem(value, max, min)));
}

/** Storable text, which may be blank, of at most `max` Unicode code points. */
export function anyText(max = Number.POSITIVE_INFINITY): NeverNull<string> {
  const why = (value: string) => storageProblem(value) ?? lengthProblem(value, max);
  return z.string().check(rule(why));
}

/** A number from `min` to `max`. Minus zero becomes zero, as the database stores it. */
export function between(min: number, max: number): NeverNull<number> {
  const why = (value: number) => (value >= min && value <= max ? undefined : `must be between ${min} and ${max}`);
  return z
    .number()
    .check(rule(why))
    .overwrite((value) => value + 0);
}

/** An enum of the GraphQL schema. The value is not validated here, because GraphQL has validated it. */
export function graphEnum<Value extends string>(): NeverNull<Value> {
  return z.string() as z.ZodType as NeverNull<Value>;
}

export function flag(): NeverNull<boolean> {
  return z.boolean();
}

/**
 * Makes a check from a function that returns what is wrong with a value, or undefined if nothing is wrong. Later checks run only if this
 * check passes.
 */
export function rule<Value>(why: (value: Value) => string | undefined): z.core.CheckFn<Value> {
  return ({ value, issues }) => {
    const message = why(value);
    if (message !== undefined) issues.push({ code: 'custom', message, input: value });
  };
}

/** The arguments of a page: at most `first` elements, with ids above `after`. Null or omitted: no bound. */
export const pageArguments = {
  first: optionalNumber((first) => (first < 1 ? 'must be at least 1' : undefined)),
  after: optionalNumber((after) => (after < 0 ? 'must not be negative' : undefined)),
};
export const page = z.object(pageArguments);

/** The page of a list: at most `first` elements, with ids above `after`. Omitted: no bound. */
export interface Page {
  first?: number | undefined;
  after?: number | undefined;
}

/** A number for which null means omitted. */
export function optionalNumber(why: (value: number) => string | undefined = () => undefined) {
  return z
    .number()
    .check(rule(why))
    .nullish()
    .transform((value) => value ?? undefined);
}

/** Returns why `text` would refuse a value; undefined if `text` would accept it. The reason completes the sentence "<path> …". */
export function textProblem(value: unknown, max: number, min = 1): string | undefined {
  if (typeof value !== 'string') return 'must be text';
  const unstorable = storageProblem(value);
  if (unstorable) return unstorable;
  if (isShapeless(value)) return 'must not be blank';
  if (codePoints(value) < min) return `must have at least ${min} characters`;
  return lengthProblem(value, max);
}

function lengthProblem(value: string, max: number): string | undefined {
  // A text with at most `max` UTF-16 units cannot have more code points than that, so it needs no counting.
  return value.length > max && codePoints(value) > max ? `must have at most ${max} characters` : undefined;
}

function defaultMessage({ input, ...issue }: z.core.$ZodRawIssue): string | undefined {
  if (input === null) return 'must not be null';
  if (input === undefined) return 'must be given';
  if (issue.code !== 'invalid_type') return undefined;
  return issue.expected === 'string' ? 'must be text' : `must be of type ${issue.expected}`;
}
