import { objectNotFound, tenantPrefix } from './object-keys.ts';
import type { ObjectStore } from './object-store.ts';

/** One tenant's objects, under the same keys. What does not start with `tenants/<tenant id>/` is not there. */
export type TenantObjects = Omit<ObjectStore, 'ping' | 'close'>;

/** The view of a store that work for one tenant gets: a key that belongs to another is *not found*, whatever is asked. */
export function tenantObjects(store: ObjectStore, tenantId: number): TenantObjects {
  const prefix = tenantPrefix(tenantId);
  /** Promises reject; nothing is thrown past them. */
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
    presignGet: (options) => own(options.key, () => store.presignGet(options)),
  };
}
