import { createHash } from 'node:crypto';
import { mkdir, readdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isDomainError, unavailable } from '@parley/kernel/errors';
import { objectBody } from '@parley/objects/object-body';
import {
  checkContentType,
  checkKey,
  checkPrefix,
  expirySeconds,
  objectNotFound,
  pageSize,
} from '@parley/objects/object-keys';
import {
  type ObjectStore,
  type OpenObject,
  objectChanged,
  objectTooLarge,
  type StoredVersion,
  uploadsRefused,
} from '@parley/objects/object-store';
import { isMissing, type ObjectHead, type OpenObjectFile, openObjectFile, writeObjectFile } from './object-file.ts';
import type { UrlSigner } from './signed-urls.ts';

export interface FileObjectStoreOptions {
  /** The root folder. It is created when the first object is stored. */
  folder: string;
  signer: UrlSigner;
  /** Base URL of the `storageServer` of this folder, for signed URLs. Undefined until that server listens. */
  publicUrl: () => string | undefined;
}

/** An object store that keeps its objects as local files and is used by one process. */
export interface FileObjectStore extends ObjectStore {
  /**
   * Stores a stream of bytes once the stream has ended. Used by the storage server.
   * @throws DomainError `invalid` (`OBJECT_TOO_LARGE`) if the stream exceeds `maxBytes`
   * @throws DomainError `conflict` (`OBJECT_FINAL`) if `refuseUploads` was called for the key
   */
  receive(
    key: string,
    bytes: AsyncIterable<Uint8Array>,
    options: { contentType: string; maxBytes: number },
  ): Promise<StoredVersion>;
}

/** Age after which a file in `incoming/` counts as abandoned by a dead process. */
const abandonedAfterMs = 60 * 60 * 1000;
const openFilesAtOnce = 32;

/**
 * Each file is named by the hash of the object's key. So no key can point outside of the folder or be too long for a file system. Keys that
 * differ only in case do not collide, and neither do `a` and `a/b`. The cost: `list` reads the head of every object.
 */
export function fileObjectStore({ folder, signer, publicUrl }: FileObjectStoreOptions): FileObjectStore {
  let opening: Promise<string> | undefined;
  let isClosed = false;
  const uploads = refusedUploads();

  async function open(): Promise<string> {
    if (isClosed) throw unavailable('The object store is closed');
    opening ??= prepare(folder).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  }

  /** Maps errors of the file system (full disk, missing rights) to `unavailable`, because an operator can fix them. */
  async function mapErrors<T>(work: (root: string) => Promise<T>): Promise<T> {
    try {
      return await work(await open());
    } catch (error) {
      if (isDomainError(error) || !(error as NodeJS.ErrnoException).syscall) throw error;
      throw unavailable('The object store cannot use its folder', error);
    }
  }

  async function write(
    key: string,
    bytes: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
    { contentType, ...limits }: { contentType: string; maxBytes?: number; beforeRename?: () => void },
  ): Promise<StoredVersion> {
    checkKey(key);
    checkContentType(contentType);
    return mapErrors(async (root) => {
      const target = { file: fileOf(root, key), incoming: join(root, 'incoming') };
      const { etag, sizeBytes } = await writeObjectFile(target, { key, contentType }, bytes, limits);
      return { etag, sizeBytes };
    });
  }

  async function find(key: string): Promise<OpenObjectFile> {
    checkKey(key);
    const found = await mapErrors((root) => openObjectFile(fileOf(root, key)));
    if (!found) throw objectNotFound(key);
    return found;
  }

  function base(): string {
    const url = publicUrl();
    if (url === undefined || isClosed) throw unavailable('The storage server does not listen');
    return url;
  }

  return {
    put: (key, bytes, options) => write(key, [bytes], options),

    async receive(key, bytes, options) {
      const beforeRename = () => uploads.check(key);
      beforeRename(); // checked again before the rename
      return write(key, bytes, { ...options, beforeRename });
    },

    async get(key, { ifMatch, maxBytes = Number.POSITIVE_INFINITY } = {}): Promise<OpenObject> {
      const { head, handle, start } = await find(key);
      const refusal =
        ifMatch !== undefined && ifMatch !== head.etag
          ? objectChanged()
          : head.sizeBytes > maxBytes
            ? objectTooLarge(maxBytes)
            : undefined;
      if (refusal) {
        await handle.close();
        throw refusal;
      }
      const { key: _, ...facts } = head;
      return { ...facts, body: objectBody(handle.createReadStream({ start })) };
    },

    async head(key) {
      const { head, handle } = await find(key);
      await handle.close();
      const { key: _, ...facts } = head;
      return facts;
    },

    async delete(key) {
      checkKey(key);
      await mapErrors((root) =>
        unlink(fileOf(root, key)).catch((error: unknown) => {
          if (!isMissing(error)) throw error;
        }),
      );
    },

    async list({ prefix, after, limit }) {
      checkPrefix(prefix);
      const size = pageSize(limit);
      const heads = (await mapErrors(allHeads)).filter(
        ({ key }) => key.startsWith(prefix) && (after === undefined || compareKeys(key, after) > 0),
      );
      const page = heads.sort((a, b) => compareKeys(a.key, b.key)).slice(0, size);
      return {
        objects: page.map(({ key, etag, sizeBytes, lastModified }) => ({ key, etag, sizeBytes, lastModified })),
        next: heads.length > size ? page.at(-1)?.key : undefined,
      };
    },

    async presignPut({ key, contentType, expiresInMs }) {
      checkKey(key);
      checkContentType(contentType);
      const expiresAt = expiry(expiresInMs);
      return { url: signer.sign(base(), { method: 'PUT', key, contentType, expiresAt }), expiresAt };
    },

    async refuseUploads(key, { forMs }) {
      checkKey(key);
      uploads.refuse(key, forMs);
    },

    async presignGet({ key, expiresInMs, fileName, contentType }) {
      checkKey(key);
      if (contentType !== undefined) checkContentType(contentType);
      const expiresAt = expiry(expiresInMs);
      return { url: signer.sign(base(), { method: 'GET', key, contentType, fileName, expiresAt }), expiresAt };
    },

    ping: () => mapErrors(async (root) => void (await stat(root))),

    async close() {
      if (isClosed) return;
      isClosed = true;
      await opening?.catch(() => undefined);
    },
  };
}

/** The object keys for which uploads are refused. They are kept in memory, because one process serves the store. */
function refusedUploads() {
  const untilByKey = new Map<string, number>();
  return {
    refuse(key: string, forMs: number): void {
      const now = Date.now();
      for (const [each, until] of untilByKey) if (until <= now) untilByKey.delete(each);
      untilByKey.set(key, now + forMs);
    },
    check(key: string): void {
      if ((untilByKey.get(key) ?? 0) > Date.now()) throw uploadsRefused();
    },
  };
}

function expiry(expiresInMs: number): Date {
  return new Date(Date.now() + expirySeconds(expiresInMs) * 1_000);
}

async function prepare(folder: string): Promise<string> {
  const incoming = join(folder, 'incoming');
  await mkdir(incoming, { recursive: true, mode: 0o700 });
  for (const name of await readdir(incoming)) {
    const { mtimeMs } = await stat(join(incoming, name));
    if (Date.now() - mtimeMs > abandonedAfterMs) await unlink(join(incoming, name));
  }
  return folder;
}

function fileOf(root: string, key: string): string {
  const name = createHash('sha256').update(key).digest('hex');
  return join(root, 'objects', name.slice(0, 2), name.slice(2));
}

async function allHeads(root: string): Promise<ObjectHead[]> {
  const files = await readdir(join(root, 'objects'), { recursive: true, withFileTypes: true }).catch(
    (error: unknown) => {
      if (isMissing(error)) return [];
      throw error;
    },
  );
  const waiting = files.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const heads: ObjectHead[] = [];
  const read = async () => {
    for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
      const found = await openObjectFile(file); // undefined: the file was deleted after its folder was read
      if (!found) continue;
      await found.handle.close();
      heads.push(found.head);
    }
  };
  await Promise.all(Array.from({ length: openFilesAtOnce }, read));
  return heads;
}

/** S3 orders keys by their UTF-8 bytes, which is not the order of JavaScript's strings. */
function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
