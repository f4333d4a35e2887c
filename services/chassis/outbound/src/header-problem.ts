const token = /^[!#$%&'*+\-.^_`|~\da-z]+$/iu;

const reserved = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Returns why a header may not be sent; undefined if it may be sent. The text completes a message "<path> …", and never contains the
 * header's value.
 */
export function headerProblem(name: string, value: string): string | undefined {
  if (!token.test(name)) return 'must have a header name of letters, digits and hyphens';
  const lower = name.toLowerCase();
  if (reserved.has(lower) || lower.startsWith('proxy-')) return `must not set ${lower}`;
  return /[^\t\u0020-\u007e\u0080-\u00ff]/u.test(value) ? 'must have a header value without line breaks' : undefined;
}
