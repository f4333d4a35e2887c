import { secretKeys } from '../secrets/secret-box.ts';
import { type Environment, SettingsError } from './config.ts';

/**
 * Checks that the mesh and the operators have different keys.
 * @throws SettingsError if the mesh uses the same key, because units could then act as operators
 */
export function checkOperatorKey(env: Environment, operatorKey: Buffer | undefined): void {
  const meshKeys = secretKeys.safeParse(env['MESH_KEY']).data ?? [];
  if (meshKeys.some((key) => operatorKey?.equals(key)))
    throw new SettingsError(['OPERATOR_KEY: must be another key than MESH_KEY']);
}
