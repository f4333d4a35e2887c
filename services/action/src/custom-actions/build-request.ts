import { DomainError } from '@parley/kernel/errors';
import { headerProblem } from '@parley/outbound/header-problem';
import type { OutboundRequest } from '@parley/outbound/outbound';
import type { ActionFields } from './custom-action.ts';
import { fillUrl, placeholdersOf } from './url-template.ts';

export type Args = Readonly<Record<string, unknown>>;

/** The part of an outbound request that depends on the action; the sender adds limits. */
export type BuiltRequest = { url: string } & Required<Pick<OutboundRequest, 'headers'>> &
  Pick<OutboundRequest, 'method' | 'body'>;

const maxUrlLength = 16_384;

/**
 * Builds the request of one call. Arguments fill the URL's placeholders. The remaining arguments become the query of GET and DELETE, and
 * the JSON body of other methods. In a query, an array repeats its name, nested objects and arrays are JSON, and null is omitted.
 * @param credential headers that replace `extraHeaders` of the same name, in upper or lower case
 * @throws DomainError `invalid` with `BAD_ARGUMENTS` and every problem, without the values
 */
export function buildRequest(
  { url, method, extraHeaders }: Pick<ActionFields, 'url' | 'method' | 'extraHeaders'>,
  args: Args,
  credential: Readonly<Record<string, string>>,
  idempotencyKey?: string,
): BuiltRequest {
  const filled = fillUrl(url, args);
  if ('problems' in filled) throw badArguments(filled.problems);
  const inUrl = new Set(placeholdersOf(url));
  const remaining = Object.entries(args).filter(([name]) => !inUrl.has(name));
  const inQuery = method === 'GET' || method === 'DELETE';
  const headers = mergedHeaders(
    { accept: 'application/json, text/*;q=0.9, */*;q=0.1' },
    inQuery ? {} : { 'content-type': 'application/json' },
    extraHeaders ?? {},
    credential,
    idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
  );
  if (!inQuery) return { url: filled.url, method, headers, body: JSON.stringify(Object.fromEntries(remaining)) };
  return { url: withQuery(filled.url, remaining), method, headers };
}

/** Merges headers under lower-case names, so that no header is sent twice. A later value replaces an earlier one. */
function mergedHeaders(...all: Readonly<Record<string, string>>[]): Record<string, string> {
  const merged = new Map<string, string>();
  for (const headers of all) {
    for (const [name, value] of Object.entries(headers)) {
      // Stored headers were already checked, but tokens issued by other servers were not. The error message does not contain the value.
      if (headerProblem(name, value)) throw new DomainError('invalid', 'A header of the action cannot be sent');
      merged.set(name.toLowerCase(), value);
    }
  }
  return Object.fromEntries(merged);
}

function withQuery(url: string, args: [name: string, value: unknown][]): string {
  const fixed = new Set(new URL(url).searchParams.keys());
  const overriding = args.filter(([name]) => fixed.has(name));
  if (overriding.length > 0)
    throw badArguments(overriding.map(([name]) => ({ name, message: "is set by the action's URL" })));

  const pairs = args.flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).flatMap((each: unknown) =>
      each == null ? [] : [[name, queryText(each)]],
    ),
  );
  if (pairs.length === 0) return url;
  // A lone surrogate cannot be encoded in UTF-8.
  const query = pairs.map((pair) => pair.map((part) => encodeURIComponent(part.toWellFormed())).join('=')).join('&');
  const whole = `${url}${!url.includes('?') ? '?' : /[?&]$/u.test(url) ? '' : '&'}${query}`;
  if (whole.length > maxUrlLength)
    throw badArguments([{ name: '', message: `must not make the URL longer than ${maxUrlLength} characters` }]);
  return whole;
}

function queryText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Returns the error for arguments that cannot be sent. Paths are relative to `args`. */
function badArguments(problems: { name: string; message: string }[]): DomainError {
  const fields = problems.map(({ name, message }) => ({ path: name === '' ? 'args' : `args.${name}`, message }));
  const message = fields.map((field) => `${field.path} ${field.message}`).join('; ');
  return new DomainError('invalid', message, { reason: 'BAD_ARGUMENTS', fields });
}
