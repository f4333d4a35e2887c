import type { Readable } from 'node:stream';
import { badRequest, conflict, unavailable } from '@parley/kernel/errors';

/**
 * Files by key: what people upload and what we render. Keys are those that `object-keys.ts` takes, and start with
 * `tenants/<tenant id>/`; `tenantObjects` is the view that one tenant's work gets.
 *
 * An object is replaced as a whole or not at all. A reader has the bytes of one version from first to last, whatever is
 * put under the key meanwhile. Every call rejects with a `DomainError`: `notFound`, `invalid` for a key that is none, and
 * `unavailable` while the engine cannot be reached.
 */
export interface ObjectStore {
  /** Stores whole bytes: what we write ourselves is bounded. Large files come from clients, by `presignPut`. */
  put(key: string, bytes: Uint8Array, options: { contentType: string }): Promise<StoredVersion>;
  /**
   * Opens an object. The body must be read to its end or destroyed; it fails as the calls do.
   * @throws DomainError `conflict` (`OBJECT_CHANGED`) when it is no longer the version `ifMatch`; `invalid`
   *   (`OBJECT_TOO_LARGE`) when it has more than `maxBytes`.
   */
  get(key: string, options?: ReadOptions): Promise<OpenObject>;
  head(key: string): Promise<ObjectFacts>;
  /** Also resolves when there is none. */
  delete(key: string): Promise<void>;
  /** Keys that start with `prefix`, in the order of their bytes. For sweeps: no request of a person waits for it. */
  list(options: ListOptions): Promise<ObjectPage>;
  /**
   * A URL to which whoever has it can PUT this one key, with exactly this `content-type` header and any length: what has
   * come is known from `head`. It may be used again until it expires, so whoever relies on the bytes keeps their ETag.
   */
  presignPut(options: PresignPut): Promise<PresignedUrl>;
  /** A URL from which whoever has it can GET this object, whether or not it is there yet. */
  presignGet(options: PresignGet): Promise<PresignedUrl>;
  /** Rejects with the reason while the engine does not answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface StoredVersion {
  /** Names the bytes: another version has another. Opaque, without quotes. */
  etag: string;
  sizeBytes: number;
}

export interface ObjectFacts extends StoredVersion {
  contentType: string;
  lastModified: Date;
}

export interface OpenObject extends ObjectFacts {
  body: Readable;
}

export interface ReadOptions {
  /** The ETag of the one version that is wanted. */
  ifMatch?: string;
  /** Default: no bound. */
  maxBytes?: number;
}

export interface ListOptions {
  /** A beginning of keys, whole segments or not. */
  prefix: string;
  /** `next` of the page before. */
  after?: string;
  /** 1 to 1,000. Default 1,000. */
  limit?: number;
}

export interface ObjectPage {
  objects: (StoredVersion & { key: string; lastModified: Date })[];
  /** Where the next page begins; undefined on the last one. */
  next: string | undefined;
}

export interface PresignPut {
  key: string;
  contentType: string;
  /** 1 s to 7 days, to the second. */
  expiresInMs: number;
}

export interface PresignGet {
  key: string;
  /** 1 s to 7 days, to the second. */
  expiresInMs: number;
  /** Browsers then save the answer under this name. */
  fileName?: string;
  /** Given to the client in place of the stored type. */
  contentType?: string;
}

export interface PresignedUrl {
  url: string;
  expiresAt: Date;
}

/** Reads a whole object into memory. @throws DomainError as `get` does. */
export async function readObject(
  store: Pick<ObjectStore, 'get'>,
  key: string,
  options: ReadOptions & { maxBytes: number },
): Promise<ObjectFacts & { bytes: Buffer }> {
  const { body, ...facts } = await store.get(key, options);
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk as Buffer);
  return { ...facts, bytes: Buffer.concat(chunks) };
}

/** Where a process has no object store: each call is `unavailable`, so that work which needs one waits instead of ending. */
export function absentObjectStore(why = 'no object store is configured (S3_ENDPOINT)'): ObjectStore {
  const absent = () => Promise.reject(unavailable(why));
  return {
    put: absent,
    get: absent,
    head: absent,
    delete: absent,
    list: absent,
    presignPut: absent,
    presignGet: absent,
    ping: absent,
    close: async () => undefined,
  };
}

export function objectChanged(): Error {
  return conflict('The file has been replaced', 'OBJECT_CHANGED');
}

export function objectTooLarge(maxBytes: number): Error {
  return badRequest(`The file is larger than ${maxBytes} bytes`, 'OBJECT_TOO_LARGE');
}
