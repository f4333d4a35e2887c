import { invalid, notFound } from '@parley/kernel/errors';

/** S3 allows 1,024 bytes; the remaining bytes are for installations that add a prefix to all keys in the bucket. */
const maxKeyBytes = 900;
/** File systems allow names of 255 bytes, and engines that store objects as files add a suffix to the name. */
const maxSegmentBytes = 200;
// Control characters and Unicode line ends are forbidden, because a key that contains them is misleading when it is displayed.
const forbiddenCharacters = /[\p{Cc}\u2028\u2029\\]/u;
const day = 24 * 60 * 60 * 1000;
const maxExpiryMs = 7 * day;
const maxPageSize = 1_000;
const typeShape = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}(?:; ?[\w.-]{1,40}=[\w.+-]{1,100}){0,3}$/u;

/** Returns the prefix of all keys of one tenant. */
export function tenantPrefix(tenantId: number): string {
  if (!Number.isSafeInteger(tenantId) || tenantId < 1) throw new RangeError('A tenant id is a positive whole number');
  return `tenants/${tenantId}/`;
}

/**
 * Checks a key:
 * - Its segments are separated by single slashes. No segment is empty, `.`, `..` or longer than 200 bytes.
 * - It has no backslash, control character or unpaired surrogate.
 * - It is not longer than 900 bytes.
 *
 * @throws DomainError `invalid` for any other key
 */
export function checkKey(key: string): void {
  const why = problemOfKey(key);
  if (why) throw invalid({ path: 'key', message: why });
}

/**
 * Checks a prefix of keys.
 * @throws DomainError `invalid` if the prefix, apart from a final slash, is not a valid key
 */
export function checkPrefix(prefix: string): void {
  const why = problemOfKey(prefix.endsWith('/') ? prefix.slice(0, -1) : prefix);
  if (why) throw invalid({ path: 'prefix', message: why });
}

function problemOfKey(key: string): string | undefined {
  if (typeof key !== 'string' || key === '') return 'must be text';
  if (!key.isWellFormed() || forbiddenCharacters.test(key)) return 'holds characters that no key may have';
  if (Buffer.byteLength(key) > maxKeyBytes) return `must have at most ${maxKeyBytes} bytes`;
  for (const segment of key.split('/')) {
    if (segment === '' || segment === '.' || segment === '..') return 'must not have empty, . or .. segments';
    if (Buffer.byteLength(segment) > maxSegmentBytes) return `must have segments of at most ${maxSegmentBytes} bytes`;
  }
  return undefined;
}

/** @throws DomainError `invalid` if the content type is not a media type. */
export function checkContentType(contentType: string): void {
  if (typeof contentType !== 'string' || !typeShape.test(contentType)) {
    throw invalid({ path: 'contentType', message: 'is no media type' });
  }
}

/**
 * Returns how long a signed URL is valid, in whole seconds.
 * @throws RangeError if the time is shorter than 1 s or longer than 7 days
 */
export function expirySeconds(expiresInMs: number): number {
  if (!(expiresInMs >= 1_000 && expiresInMs <= maxExpiryMs)) throw new RangeError('A URL lives from 1 s to 7 days');
  return Math.floor(expiresInMs / 1_000);
}

/**
 * Returns the page size of `list`.
 * @throws RangeError if `limit` is not a whole number from 1 to 1,000
 */
export function pageSize(limit = maxPageSize): number {
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= maxPageSize))
    throw new RangeError('A page has 1 to 1,000 keys');
  return limit;
}

/** Returns the header `content-disposition: attachment` with an escaped file name. */
export function attachment(fileName: string): string {
  const name = fileName.toWellFormed();
  const plain = name.replace(/[^\w. -]/gu, '_').slice(0, 150);
  const whole = encodeURIComponent([...name].slice(0, 150).join('')).replace(
    /['()*]/gu,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${whole}`;
}

export function objectNotFound(key: string): Error {
  return notFound('Object', key);
}
