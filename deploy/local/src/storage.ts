import { fileObjectStore } from '@parley/embedded/file-object-store';
import { urlSigner } from '@parley/embedded/signed-urls';
import { type StorageServerOptions, storageServer } from '@parley/embedded/storage-server';

export interface LocalStorageOptions extends Pick<StorageServerOptions, 'port' | 'corsOrigins' | 'log'> {
  /** The folder for files, created with the first file. */
  folder: string;
  /** The key ring for signed URLs. */
  keys: Uint8Array[];
}

/** Creates an object store in a local folder, and the server that responds to its signed URLs. */
export function localStorage({ folder, keys, ...rest }: LocalStorageOptions) {
  let url: string | undefined;
  const signer = urlSigner(keys);
  const store = fileObjectStore({ folder, signer, publicUrl: () => url });
  const onListening = (listening: string) => {
    url = listening;
  };
  return {
    store,
    server: storageServer({ ...rest, store, signer, onListening }),
    /** Describes the store; its URL is known once the server has started. */
    describe: () => `files in ${folder}, signed URLs on ${url}`,
  };
}
