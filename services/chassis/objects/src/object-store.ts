import type { Readable } from 'node:stream';
import { badRequest, conflict, unavailable } from '@parley/kernel/errors';

/**
 * Stores files by key: uploads of clients, and files that services write. Keys start with `tenants/<tenant id>/` (`object-keys.ts` checks
 * them); `tenantObjects` is the view of one tenant. A write replaces the whole object at once: a reader gets all bytes of one version, even
 * if another object is stored under the key during the read. A call that fails rejects with a `DomainError`: `notFound` for a missing
 * object, `invalid` for an invalid key, and `unavailable` in an outage of the engine.
 */
export interface ObjectStore {
  /** Stores bytes from memory. Large files are uploaded by clients, with `presignPut`. */
  put(key: string, bytes: Uint8Array, options: { contentType: string }): Promise<StoredVersion>;
  /**
   * Opens an object. The body must be read to its end or destroyed; it fails with the same errors as `get`.
   * @throws DomainError `conflict` (`OBJECT_CHANGED`) when the current version is not `ifMatch`
   * @throws DomainError `invalid` (`OBJECT_TOO_LARGE`) when the object has more than `maxBytes`
   */
  get(key: string, options?: ReadOptions): Promise<OpenObject>;
  head(key: string): Promise<ObjectFacts>;
  /** Deletes the object. Also resolves when there is no such object. */
  delete(key: string): Promise<void>;
  /** Returns keys that start with `prefix`, in the order of their bytes. A call may be slow, so use it only in background jobs. */
  list(options: ListOptions): Promise<ObjectPage>;
  /**
   * Returns a URL that allows a PUT under one key, with exactly the given `content-type` header. Any length is accepted, so check the
   * upload with `head`. The URL can be used repeatedly until it expires or `refuseUploads` disables it, so keep the ETag of the bytes that
   * you rely on.
   */
  presignPut(options: PresignPut): Promise<PresignedUrl>;
  /**
   * For `forMs` milliseconds, neither URLs of `presignPut` nor uploads in progress can store anything under this key, even after a
   * `delete`. There are two exceptions: S3 cannot refuse a URL that it has signed, and the file store forgets the refusal when its process
   * ends. So callers must keep the ETag in any case.
   */
  refuseUploads(key: string, options: { forMs: number }): Promise<void>;
  /** Returns a URL that allows a GET of this object, whether or not the object exists yet. */
  presignGet(options: PresignGet): Promise<PresignedUrl>;
  /** Rejects with the reason while the engine does not respond. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface StoredVersion {
  /** Identifies the version of the object. Opaque, without quotes. */
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
  /** The ETag of the version to read. Default: any version. */
  ifMatch?: string;
  /** Maximum size of the object. Default: no limit. */
  maxBytes?: number;
}

export interface ListOptions {
  /** A prefix of keys; it may end within a segment. */
  prefix: string;
  /** The `next` of the previous page. Default: the first page. */
  after?: string;
  /** Maximum number of keys in the page, from 1 to 1,000. Default: 1,000. */
  limit?: number;
}

export interface ObjectPage {
  objects: (StoredVersion & { key: string; lastModified: Date })[];
  /** The value of `after` for the next page; undefined on the last page. */
  next: string | undefined;
}

export interface PresignPut {
  key: string;
  contentType: string;
  /** How long the URL is valid, from 1 s to 7 days. Fractions of a second are ignored. */
  expiresInMs: number;
}

export interface PresignGet {
  key: string;
  /** How long the URL is valid, from 1 s to 7 days. Fractions of a second are ignored. */
  expiresInMs: number;
  /** The file name under which browsers save the file. Default: browsers display the file. */
  fileName?: string;
  /** The content type of the response. Default: the stored content type. */
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

/**
 * A store for a process without an object store: each call is `unavailable`, so that work is retried and does not fail permanently. `ping`
 * resolves, because readiness does not wait for a store that is not configured.
 */
export function absentObjectStore(why = 'no object store is configured (S3_ENDPOINT)'): ObjectStore {
  const absent = () => Promise.reject(unavailable(why));
  return {
    put: absent,
    get: absent,
    head: absent,
    delete: absent,
    list: absent,
    presignPut: absent,
    refuseUploads: absent,
    presignGet: absent,
    ping: async () => undefined,
    close: async () => undefined,
  };
}

export function objectChanged(): Error {
  return conflict('The file has been replaced', 'OBJECT_CHANGED');
}

/** Makes the error of a PUT after `refuseUploads`. The server that the signed URL names responds with it. */
export function uploadsRefused(): Error {
  return conflict('The file is final', 'OBJECT_FINAL');
}

export function objectTooLarge(maxBytes: number): Error {
  return badRequest(`The file is larger than ${maxBytes} bytes`, 'OBJECT_TOO_LARGE');
}
