import { isDomainError } from '@parley/kernel/errors';
import type { ObjectFacts, ObjectStore } from '@parley/objects/object-store';

/** Returns the object's facts; undefined if there is no object. @throws DomainError `unavailable` if the object store does not respond */
export async function storedFacts(files: Pick<ObjectStore, 'head'>, key: string): Promise<ObjectFacts | undefined> {
  try {
    return await files.head(key);
  } catch (error) {
    if (isDomainError(error, 'notFound')) return undefined;
    throw error;
  }
}
