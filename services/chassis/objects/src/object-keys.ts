import { invalid, notFound } from '@parley/kernel/errors';

/** S3 takes 1,024; the rest is left to whoever keeps a bucket below a prefix of its own. */
const maxKeyBytes = 900;
/** File systems take 255 for a name, and engines that keep objects as files add something of theirs. */
const maxSegmentBytes = 200;
// Control characters of both ranges, and line ends of Unicode: they lead astray wherever a key is shown.
const unwanted = /[\p{Cc}\u2028\u2029\\]/u;
const day = 24 * 60 * 60 * 1000;
const maxExpiryMs = 7 * day;
const maxPageSize = 1_000;
const typeShape = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}(?:; ?[\w.-]{1,40}=[\w.+-]{1,100}){0,3}$/u;

/** The keys of one tenant: what belongs to another does not start so. */
export function tenantPrefix(tenantId: number): string {
  if (!Number.isSafeInteger(tenantId) || tenantId < 1) throw new RangeError('A tenant id is a positive whole number');
  return `tenants/${tenantId}/`;
}

/**
 * Keys are segments between single slashes: none is empty, `.` or `..` or longer than 200 bytes, nothing in them is a
 * backslash, a control character or half a surrogate pair, and all together have 900 bytes at most.
 * @throws DomainError `invalid`
 */
export function checkKey(key: string): void {
  const why = whyNoKey(key);
  if (why) throw invalid({ path: 'key', message: why });
}

/** A beginning of a key. @throws DomainError `invalid` */
export function checkPrefix(prefix: string): void {
  const why = whyNoKey(prefix.endsWith('/') ? prefix.slice(0, -1) : prefix);
  if (why) throw invalid({ path: 'prefix', message: why });
}

function whyNoKey(key: string): string | undefined {
  if (typeof key !== 'string' || key === '') return 'must be text';
  if (!key.isWellFormed() || unwanted.test(key)) return 'holds characters that no key may have';
  if (Buffer.byteLength(key) > maxKeyBytes) return `must have at most ${maxKeyBytes} bytes`;
  for (const segment of key.split('/')) {
    if (segment === '' || segment === '.' || segment === '..') return 'must not have empty, . or .. segments';
    if (Buffer.byteLength(segment) > maxSegmentBytes) return `must have segments of at most ${maxSegmentBytes} bytes`;
  }
  return undefined;
}

/** @throws DomainError `invalid` for anything that is no media type. */
export function checkContentType(contentType: string): void {
  if (typeof contentType !== 'string' || !typeShape.test(contentType)) {
    throw invalid({ path: 'contentType', message: 'is no media type' });
  }
}

/** The whole seconds that a signed URL lives. */
export function expirySeconds(expiresInMs: number): number {
  if (!(expiresInMs >= 1_000 && expiresInMs <= maxExpiryMs)) throw new RangeError('A URL lives from 1 s to 7 days');
  return Math.floor(expiresInMs / 1_000);
}

/** The page size that `list` is asked for. */
export function pageSize(limit = maxPageSize): number {
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= maxPageSize))
    throw new RangeError('A page has 1 to 1,000 keys');
  return limit;
}

/** `attachment` under a name that cannot break out of its header. */
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
