import { z } from 'zod';

/** A TCP port; 0 takes any free port. */
export const port = z.coerce
  .number('is not a number')
  .int('is not a whole number')
  .min(0)
  .max(65_535)
  .meta({ title: 'port' });
const wholeNumber = z.coerce
  .number('is not a number')
  .int('is not a whole number')
  .positive('must be above 0')
  .meta({ title: 'number' });
/**
 * A count, or a duration in whole milliseconds or seconds, depending on the setting's name. The maximum is that of a timer and of an SQL
 * integer.
 */
export const positiveInt = wholeNumber.max(2_147_483_647, 'must be at most 2147483647');
/** An amount of memory in bytes, which may exceed the limit of `positiveInt`. */
export const byteCount = wholeNumber;
/**
 * A lease of 1 second to 10 minutes. A shorter lease could end between two renewals; a longer one would delay the retry after its holder
 * has died.
 */
export const leaseMs = wholeNumber.min(1_000, 'must be at least 1000').max(600_000, 'must be at most 600000');
export const httpUrl = z.url({ protocol: /^https?$/, error: 'is not an http or https URL' }).meta({ title: 'URL' });
/**
 * A URL that may have a user and a password. A password with an unescaped `/`, `?` or `#` is refused: the password would end at this
 * character, and a part of it would be read as the host and shown in messages.
 */
export function loginUrl(protocol: RegExp, error: string) {
  const scheme = new RegExp(protocol.source.replace('$', ':'), protocol.flags);
  return z
    .url({
      protocol,
      // An unescaped slash or colon in a password ends the host, so that the rest is not a valid port.
      error: ({ input }) =>
        scheme.test(String(input)) && String(input).includes('@') ? `${error}; ${passwordHint}` : error,
    })
    .refine(hasNoLaterLogin, `has an @ behind its host: ${passwordHint}, and elsewhere @ %40`)
    .meta({ title: 'URL' });
}
const passwordHint = 'in a password / is written %2F, ? %3F, # %23';
function hasNoLaterLogin(url: string): boolean {
  return !URL.canParse(url) || !/^[^:]*:\/\/[^/?#]*[/?#].*@/su.test(url);
}
export const text = z.string();
export const flag = z
  .enum(['true', 'false'], 'is neither true nor false')
  .transform((value) => value === 'true')
  .meta({ title: 'true | false' });
/** Values separated by commas; blank ones are dropped. */
export const list = z
  .string()
  .transform((value) =>
    value
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  )
  .meta({ title: 'list' });
/** One of `values`. The error message repeats the given value, so do not use this type for secrets. */
export function oneOf<const Value extends string>(values: readonly Value[], title = values.join(' | ')) {
  return z
    .string()
    .trim()
    .pipe(z.enum(values, { error: ({ input }) => noneOf(String(input), values) }))
    .meta({ title });
}
/**
 * Values separated by commas, each one of `values`. The error message repeats given values that are not allowed, so do not use this type
 * for secrets.
 */
export function someOf<const Value extends string>(values: readonly Value[]) {
  return list
    .transform((given, { issues }) => {
      const known: readonly string[] = values;
      const unknown = given.filter((each) => !known.includes(each));
      issues.push(...unknown.map((input) => ({ code: 'custom' as const, input, message: noneOf(input, values) })));
      return given as Value[];
    })
    .meta({ title: 'list' });
}
function noneOf(given: string, values: readonly string[]): string {
  return `${given} is none of ${values.slice(0, -1).join(', ')} and ${values.at(-1)}`;
}
/** A key of at least 32 bytes in base64 or base64url. */
export const secretKey = z
  .string()
  .refine((value) => Buffer.from(value, 'base64').length >= 32, 'must be at least 32 bytes in base64')
  .transform((value) => Buffer.from(value, 'base64'))
  .meta({ title: 'key' });
