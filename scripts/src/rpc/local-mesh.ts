import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { addressSettingOf, type MeshLookup } from '@parley/commands/rpc/invoke';
import { badRequest } from '@parley/kernel/errors';
import { type Environment, readSettings } from '@parley/kernel/settings/config';
import { dataFolderSetting } from '@parley/kernel/settings/shared-settings';
import { addressesFile } from '@parley/local/addresses-file';
import { keysFile } from '@parley/local/keys';
import { root } from '../root.ts';

/** Looks up addresses and keys in the settings, then in the data folder of the mesh on this machine. */
export const lookupOnMachine: MeshLookup = {
  addressOf(unit, env) {
    const name = addressSettingOf(unit);
    const address: string = env[name] || kept(addressesFile, env)[unit]?.rpc;
    if (address) return address;
    throw badRequest(`Where is ${unit}? Start scripts/up, or set ${name}, or PARLEY_DATA_DIR of a running mesh`);
  },
  keysWith: (name, env) => (env[name] ? env : kept(keysFile, env)),
};

function kept(file: string, env: Environment) {
  const path = resolve(root, readSettings(env, { folder: dataFolderSetting }).folder, file);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
}
