import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** What a signed URL permits, any number of times until it expires. */
export interface Permit {
  method: 'PUT' | 'GET';
  key: string;
  /** PUT: the content type that the upload must have. GET: the content type of the response; default: the stored content type. */
  contentType?: string | undefined;
  /** GET: the file name under which browsers save the object. */
  fileName?: string | undefined;
  expiresAt: Date;
}

export type UrlSigner = ReturnType<typeof urlSigner>;
const parameters = ['expires', 'type', 'name', 'signature'] as const;
type Parameters = Partial<Record<(typeof parameters)[number], string>>;

/**
 * Signs URLs with HMAC-SHA256; object key and permit are in plain text. The first key of the ring signs and every key verifies, so that
 * URLs stay valid during a key rotation.
 */
export function urlSigner(keys: readonly Uint8Array[], now: () => number = Date.now) {
  const ring = keys.map((key) => Buffer.from(hkdfSync('sha256', key, '', 'parley storage urls', 32)));
  const [first] = ring;
  if (!first) throw new Error('There is no key to sign URLs with');

  return {
    sign(baseUrl: string, permit: Permit): string {
      const query = new URLSearchParams({ expires: String(permit.expiresAt.getTime()) });
      if (permit.contentType !== undefined) query.set('type', permit.contentType);
      if (permit.fileName !== undefined) query.set('name', permit.fileName.toWellFormed());
      query.set('signature', signature(first, permit).toString('base64url'));
      return `${baseUrl}/${permit.key.split('/').map(encodeURIComponent).join('/')}?${query}`;
    },

    /**
     * Returns the permit of a request target (unparsed path and query) that is requested with `method`.
     * @returns undefined if the URL has expired, was changed in any way, or was signed for another method.
     */
    verify(method: string, target: string): Permit | undefined {
      if (method !== 'PUT' && method !== 'GET') return undefined;
      const read = readTarget(target);
      if (!read) return undefined;
      const { key, given } = read;
      const permit: Permit = {
        method,
        key,
        contentType: given.type,
        fileName: given.name,
        expiresAt: new Date(Number(given.expires)),
      };
      const sent = Buffer.from(given.signature ?? '', 'base64url');
      // Tries all keys, so that the response time does not reveal which key matches.
      const matches = ring.filter((each) => {
        const right = signature(each, permit);
        return sent.length === right.length && timingSafeEqual(sent, right);
      });
      return matches.length > 0 && permit.expiresAt.getTime() > now() ? permit : undefined;
    },
  };
}

/** Signs a JSON array, so that no two permits have the same text. */
function signature(key: Buffer, { method, key: objectKey, contentType, fileName, expiresAt }: Permit): Buffer {
  const name = fileName?.toWellFormed();
  const text = JSON.stringify([method, objectKey, contentType ?? null, name ?? null, String(expiresAt.getTime())]);
  return createHmac('sha256', key).update(text).digest();
}

/** Parses the target without a URL parser. Such a parser would resolve `..`, so that two targets could mean the same key. */
function readTarget(target: string): { key: string; given: Parameters } | undefined {
  const [path = '', query = '', ...rest] = target.split('?');
  if (!path.startsWith('/') || rest.length > 0) return undefined;
  const given: Parameters = {};
  for (const [name, value] of new URLSearchParams(query)) {
    const known = parameters.find((each) => each === name);
    if (!known || given[known] !== undefined) return undefined;
    given[known] = value;
  }
  if (!/^\d{1,15}$/u.test(given.expires ?? '')) return undefined;
  try {
    return { key: decodeURIComponent(path.slice(1)), given };
  } catch {
    return undefined;
  }
}
