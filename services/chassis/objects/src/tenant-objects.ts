import { objectNotFound, tenantPrefix } from './object-keys.ts';
import type { ObjectStore } from './object-store.ts';

/** One tenant's objects, under the same keys as in the whole store. Keys without the prefix `tenants/<tenant id>/` are not found. */
export type TenantObjects = Omit<ObjectStore, 'ping' | 'close'>;

/** Returns the view of a store for one tenant: keys of other tenants are *not found* in every call. */
export function tenantObjects(store: ObjectStore, tenantId: number): TenantObjects {
  const prefix = tenantPrefix(tenantId);
  /** An async function, so that it rejects and never throws synchronously. */
  async function own<T>(key: string, call: () => Promise<T>): Promise<T> {
    if (!key.startsWith(prefix)) throw objectNotFound(key);
    return call();
  }
  return {
    put: (key, bytes, options) => own(key, () => store.put(key, bytes, options)),
    get: (key, options) => own(key, () => store.get(key, options)),
    head: (key) => own(key, () => store.head(key)),
    delete: (key) => own(key, () => store.delete(key)),
    list: (options) => own(options.prefix, () => store.list(options)),
    presignPut: (options) => own(options.key, () => store.presignPut(options)),
    refuseUploads: (key, options) => own(key, () => store.refuseUploads(key, options)),
    presignGet: (options) => own(options.key, () => store.presignGet(options)),
  };
}
