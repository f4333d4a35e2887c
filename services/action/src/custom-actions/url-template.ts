import { storageProblem } from '@parley/kernel/input-checks';

const placeholder = /\{([^{}]*)\}/gu;
const placeholderName = /^[\w][\w.-]{0,63}$/u;

export const maxUrlLength = 2_000;

/** Maximum length of a filled URL; servers refuse longer ones. */
const maxFilledLength = 8_192;

/** Splits an absolute URL into scheme and authority, path, query, and fragment. */
const parts = /^(https?:\/\/[^/?#]+)([^?#]*)(\?[^#]*)?(#.*)?$/iu;

/**
 * Returns why a URL template is refused, as the end of the sentence "<path> …"; undefined if it is valid. Placeholders `{name}` are allowed
 * in path and query.
 * @param urlProblem the outbound guard's check, called with an example value for each placeholder
 */
export function urlTemplateProblem(
  template: string,
  urlProblem: (url: string) => string | undefined,
): string | undefined {
  // `URL` drops some of these characters and reads others as slashes, so the URL that is checked would differ from the URL as written.
  if (/[\s\p{Cc}\\]/u.test(template)) return 'must not hold spaces, control characters or backslashes';
  const [, origin = '', path = '', query = '', fragment = ''] = parts.exec(template) ?? [];
  if (origin === '') return urlProblem(template) ?? 'must begin with http:// or https:// and a host';
  if (/[{}]/u.test(origin)) return 'must have placeholders in path and query only';
  if (fragment !== '') return 'must have no fragment';
  const names = placeholdersOf(path + query);
  if (/[{}]/u.test((path + query).replaceAll(placeholder, '')) || !names.every((name) => placeholderName.test(name)))
    return 'must have placeholders as {name}, of letters, digits, dots, hyphens and underscores';
  if (/%[\da-f]?\{/iu.test(template)) return 'must not have a placeholder within a percent-encoded character';
  return urlProblem(template.replaceAll(placeholder, 'x'));
}

/** Returns the distinct names of a URL's placeholders. */
export function placeholdersOf(template: string): string[] {
  return [...new Set([...template.matchAll(placeholder)].map(([, name = '']) => name))];
}

export type FilledUrl = { url: string } | { problems: { name: string; message: string }[] };

/**
 * Fills the placeholders. Values are percent-encoded, so they cannot change other parts of the URL. In the path, a value is refused if it
 * is empty or makes a `.` or `..` segment.
 */
export function fillUrl(template: string, args: Readonly<Record<string, unknown>>): FilledUrl {
  const queryStart = template.indexOf('?');
  const path = queryStart === -1 ? template : template.slice(0, queryStart);
  const inPath = new Set(placeholdersOf(path));
  const problems = placeholdersOf(template).flatMap((name) => {
    const message = valueProblem(ownValue(args, name), inPath.has(name));
    return message === undefined ? [] : [{ name, message }];
  });
  if (problems.length > 0) return { problems };

  const url = template.replaceAll(placeholder, (_, name: string) => encodeURIComponent(String(ownValue(args, name))));
  // Adjacent values, or a value next to a dot of the template, may form a `..` segment.
  const [filledPath = ''] = url.split('?');
  const moved = path
    .split('/')
    .findIndex((part, n) => part.includes('{') && isDotSegment(filledPath.split('/')[n] ?? ''));
  if (moved !== -1) {
    const name = placeholdersOf(path.split('/')[moved] ?? '')[0] ?? '';
    return { problems: [{ name, message: 'must not make a path of dots' }] };
  }
  if (url.length > maxFilledLength) {
    const [name = ''] = placeholdersOf(template);
    return { problems: [{ name, message: `must not make the URL longer than ${maxFilledLength} characters` }] };
  }
  return { url };
}

function valueProblem(value: unknown, isInPath: boolean): string | undefined {
  if (value === undefined) return 'must be given';
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
    return 'must be text, a number, true or false';
  const text = String(value);
  const unencodable = storageProblem(text);
  if (unencodable) return unencodable;
  if (!isInPath) return undefined;
  if (text === '') return 'must not be empty';
  if (text.split(/[/\\]|%2f|%5c/iu).some(isDotSegment)) return 'must not hold a path of dots';
  return undefined;
}

/** Reports whether a path segment is `.` or `..`, including percent-encoded dots, which `URL` and servers decode. */
function isDotSegment(segment: string): boolean {
  return /^(?:\.|%2e){1,2}$/iu.test(segment);
}

function ownValue(args: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(args, name) ? args[name] : undefined;
}
