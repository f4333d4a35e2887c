import { secretKeys } from '../secrets/secret-box.ts';
import { type Environment, SettingsError } from './config.ts';

/** @throws SettingsError where units sign with it as well, who could act as operators then */
export function checkOperatorKey(env: Environment, operatorKey: Buffer | undefined): void {
  const meshKeys = secretKeys.safeParse(env['MESH_KEY']).data ?? [];
  if (meshKeys.some((key) => operatorKey?.equals(key)))
    throw new SettingsError(['OPERATOR_KEY: must be another key than MESH_KEY']);
}
