const longestMs = 600_000;

/** Returns how long a provider asks clients to wait, in ms. `Retry-After` has seconds or a date; undefined for any other text. */
export function retryAfterMs(header: string | undefined, now = Date.now()): number | undefined {
  if (header === undefined || /^\s*(?:-.*)?$/u.test(header)) return undefined;
  const waitMs = /^\s*\d+(\.\d+)?\s*$/u.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  if (Number.isNaN(waitMs)) return undefined;
  return Math.ceil(Math.min(Math.max(waitMs, 0), longestMs));
}
