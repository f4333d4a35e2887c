import { z } from 'zod';
import { invalid } from './errors.ts';
import { codePoints, whyUnstorable } from './input-checks.ts';

/**
 * Checks an input by its schema, and returns what the schema makes of it. A field that is omitted or undefined is not in the
 * result, so that a partial update can spread it over what is stored. The schema must have exactly the fields of the input's type,
 * which is the generated one, and accept all their values: otherwise the call does not compile.
 * @param path where the input stands among the arguments; '' for the arguments themselves.
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

/** `unknown` where both have the same fields; otherwise a property that no schema has, so that the compiler names those fields. */
type SameFields<Schema, Input> = [Differing<Schema, Input>] extends [never]
  ? unknown
  : { fieldsThatDiffer: Differing<Schema, Input> };
type Differing<A, B> = Exclude<keyof A, keyof B> | Exclude<keyof B, keyof A>;

/** A property that may be undefined becomes an optional one, as `exactOptionalPropertyTypes` wants it. */
type Given<T> = { [Field in keyof T as undefined extends T[Field] ? never : Field]: T[Field] } & {
  [Field in keyof T as undefined extends T[Field] ? Field : never]?: Exclude<T[Field], undefined>;
};

/** An input without the fields that are null, for an operation to which null is the same as omitted. */
export function withoutNulls<Input extends object>(
  input: Input,
): { [Field in keyof Input]: Exclude<Input[Field], null> } {
  const given = Object.entries(input).filter(([, value]) => value !== null);
  return Object.fromEntries(given) as { [Field in keyof Input]: Exclude<Input[Field], null> };
}

/** Refuses null with "must not be null". Its input type allows null, as the fields of every update input do. */
type NeverNull<T> = z.ZodType<T, T | null>;

/** Text that is storable, not blank, and of `min` to `max` Unicode code points. */
export function text(max: number, min = 1): NeverNull<string> {
  return z.string().check(rule((value) => whyNoText(value, max, min)));
}

/** Storable text, blank or not, of at most `max` Unicode code points; for secrets and identifiers that are compared as well. */
export function anyText(max = Number.POSITIVE_INFINITY): NeverNull<string> {
  const why = (value: string) => whyUnstorable(value) ?? whyTooLong(value, max);
  return z.string().check(rule(why));
}

/** A number within two bounds, both included. Minus zero becomes zero, because the database stores it as zero. */
export function between(least: number, most: number): NeverNull<number> {
  const why = (value: number) => (value >= least && value <= most ? undefined : `must be between ${least} and ${most}`);
  return z
    .number()
    .check(rule(why))
    .overwrite((value) => value + 0);
}

/** A value of an enum of the GraphQL schema. It is not checked again: GraphQL has refused everything else. */
export function oneOf<Value extends string>(): NeverNull<Value> {
  return z.string() as z.ZodType as NeverNull<Value>;
}

/** True or false. */
export function flag(): NeverNull<boolean> {
  return z.boolean();
}

/** A check by a function that returns why a value is refused, or undefined. After a refusal later checks do not run. */
export function rule<Value>(why: (value: Value) => string | undefined): z.core.CheckFn<Value> {
  return ({ value, issues }) => {
    const message = why(value);
    if (message !== undefined) issues.push({ code: 'custom', message, input: value });
  };
}

/** The arguments that bound a list: at most `first` elements, after the id `after`; 0 is before all ids. Null or omitted: no bound. */
export const pageArguments = {
  first: optionalNumber((first) => (first < 1 ? 'must be at least 1' : undefined)),
  after: optionalNumber((after) => (after < 0 ? 'must not be negative' : undefined)),
};
export const page = z.object(pageArguments);
export type Page = z.input<typeof page>;

/** A number for which null is the same as omitted. */
export function optionalNumber(why: (value: number) => string | undefined = () => undefined) {
  return z
    .number()
    .check(rule(why))
    .nullish()
    .transform((value) => value ?? undefined);
}

/** Why a value is not what `text` takes; undefined when it is. */
export function whyNoText(value: unknown, max: number, min = 1): string | undefined {
  if (typeof value !== 'string') return 'must be text';
  const unstorable = whyUnstorable(value);
  if (unstorable) return unstorable;
  if (value.trim() === '') return 'must not be blank';
  if (codePoints(value) < min) return `must have at least ${min} characters`;
  return whyTooLong(value, max);
}

function whyTooLong(value: string, max: number): string | undefined {
  // A code point is one UTF-16 unit or two: most texts need no counting.
  return value.length > max && codePoints(value) > max ? `must have at most ${max} characters` : undefined;
}

/** For what a schema says no message of its own. */
function defaultMessage({ input, ...issue }: z.core.$ZodRawIssue): string | undefined {
  if (input === null) return 'must not be null';
  if (input === undefined) return 'must be given';
  if (issue.code !== 'invalid_type') return undefined;
  return issue.expected === 'string' ? 'must be text' : `must be of type ${issue.expected}`;
}
