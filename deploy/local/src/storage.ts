import { fileObjectStore } from '@parley/embedded/file-object-store';
import { urlSigner } from '@parley/embedded/signed-urls';
import { type StorageServerOptions, storageServer } from '@parley/embedded/storage-server';

export interface LocalStorageOptions extends Pick<StorageServerOptions, 'port' | 'corsOrigins' | 'log'> {
  /** Made when the first file comes. `null`: a temporary one. */
  folder: string | null;
  /** The ring that URLs are signed under. */
  keys: Uint8Array[];
}

/** An object store of files on this machine, and the server of the URLs that it signs. */
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
    /** Once the server has started. */
    describe: () => `files in ${folder ?? 'a temporary folder'}, signed URLs on ${url}`,
  };
}
