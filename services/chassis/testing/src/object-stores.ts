import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FileObjectStore, fileObjectStore } from '@parley/embedded/file-object-store';
import { type UrlSigner, urlSigner } from '@parley/embedded/signed-urls';
import { type StorageServerOptions, storageServer } from '@parley/embedded/storage-server';
import { type S3Options, s3ObjectStore } from '@parley/s3/s3-object-store';
import type { ExecutionContext } from 'ava';
import { pino } from 'pino';
import { leftOut } from './left-out.ts';
import type { ConnectedStores } from './object-store-contract.ts';

/** The bucket for tests. */
export const testS3: S3Options = {
  endpoint: process.env.TEST_S3_ENDPOINT ?? '',
  region: process.env.TEST_S3_REGION ?? 'us-east-1',
  bucket: process.env.TEST_S3_BUCKET ?? '',
  accessKeyId: process.env.TEST_S3_ACCESS_KEY_ID ?? '',
  secretAccessKey: process.env.TEST_S3_SECRET_ACCESS_KEY ?? '',
};

/** Declares tests that need S3. Without `TEST_S3_ENDPOINT` they are skipped; if the variable `CI` is set, this counts as a failure. */
export function s3Tests(what: string, declare: () => void): void {
  if (testS3.endpoint !== '') return declare();
  leftOut(`${what} - left out: TEST_S3_ENDPOINT names no S3`);
}

export async function connectS3(): Promise<ConnectedStores> {
  const stores = { store: s3ObjectStore(testS3), other: s3ObjectStore(testS3) };
  return {
    ...stores,
    async close() {
      await Promise.all([stores.store.close(), stores.other.close()]);
    },
  };
}

/** A file store with its server, in its own folder. */
export interface Storage extends ConnectedStores {
  store: FileObjectStore;
  folder: string;
  signer: UrlSigner;
  /** URL of the server. */
  url: string;
}

export async function connectStorage(options: Partial<StorageServerOptions> = {}): Promise<Storage> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-storage-'));
  const signer = urlSigner([randomBytes(32)]);
  let url = '';
  const store = fileObjectStore({ folder, signer, publicUrl: () => url });
  const other = fileObjectStore({ folder, signer, publicUrl: () => url });
  const server = storageServer({
    store,
    signer,
    port: 0,
    corsOrigins: ['*'],
    log: pino({ level: 'silent' }),
    onListening: (address) => {
      url = address;
    },
    ...options,
  });
  await server.start();
  return {
    store,
    other,
    folder,
    signer,
    url,
    async close() {
      await server.stop();
      await Promise.all([store.close(), other.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A storage server that the test's teardown stops. */
export async function storageOf(t: ExecutionContext, options: Partial<StorageServerOptions> = {}): Promise<Storage> {
  const storage = await connectStorage(options);
  t.teardown(() => storage.close());
  return storage;
}
