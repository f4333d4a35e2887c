import type { Logger } from '@parley/chassis/log';
import { fileObjectStore } from '@parley/chassis/object-store/file-object-store';
import type { ObjectStore } from '@parley/chassis/object-store/object-store';
import { type S3Options, s3ObjectStore } from '@parley/chassis/object-store/s3-object-store';
import { urlSigner } from '@parley/chassis/object-store/signed-urls';
import { storageServer } from '@parley/chassis/object-store/storage-server';
import type { Part } from '@parley/chassis/unit';

/** Where the mesh keeps files. */
export interface MeshStorage {
  store: ObjectStore;
  /** Serves the signed URLs, where the store does not do so itself. */
  server?: Part;
  /** For the banner, once all has started. */
  describe(): string;
}

export interface LocalStorageOptions {
  /** Made when the first file comes. `null`: a temporary one. */
  folder: string | null;
  /** The ring that URLs are signed under. */
  keys: Uint8Array[];
  /** 0 takes any free one. */
  port: number;
  corsOrigins: string[];
  log: Logger;
}

/** The bucket that is given, or else files of this machine. */
export function meshStorage(s3: S3Options | undefined, local: LocalStorageOptions): MeshStorage {
  if (s3) return { store: s3ObjectStore(s3), describe: () => 'S3 (S3_ENDPOINT)' };
  const { folder, keys, port, corsOrigins, log } = local;
  let url: string | undefined;
  const signer = urlSigner(keys);
  const store = fileObjectStore({ folder, signer, publicUrl: () => url });
  const onListening = (listening: string) => {
    url = listening;
  };
  return {
    store,
    server: storageServer({ store, signer, port, corsOrigins, onListening, log }),
    describe: () => `files in ${folder ?? 'a temporary folder'}, signed URLs on ${url}`,
  };
}
