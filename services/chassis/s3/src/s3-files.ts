import { type Environment, readSettings } from '@parley/kernel/settings/config';
import { fileSettings } from '@parley/kernel/settings/shared-settings';
import { absentObjectStore, type ObjectStore } from '@parley/objects/object-store';
import { s3ObjectStore } from './s3-object-store.ts';

/**
 * Makes the object store of a service in a separate process: the bucket of `S3_ENDPOINT`, which production requires. Elsewhere each call
 * is `unavailable` if that setting is missing.
 * @throws SettingsError naming every setting that is missing or wrong.
 */
export function s3Files(env: Environment): ObjectStore {
  const { s3 } = readSettings(env, fileSettings);
  return s3 ? s3ObjectStore(s3) : absentObjectStore();
}
