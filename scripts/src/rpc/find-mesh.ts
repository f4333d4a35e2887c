import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Callers, createCallers } from '@parley/chassis/caller';
import { type Environment, readSettings, secretKey } from '@parley/chassis/config';
import { addressesFile } from '@parley/local/addresses-file';
import { keysFile, withKeys } from '@parley/local/keys';
import { UsageError } from './usage-error.ts';

/** Signs callers with MESH_KEY, else with the key of the mesh that has this data folder. @throws UsageError */
export async function meshCallers(env: Environment, dataFolder: string): Promise<Callers> {
  // `withKeys` would make keys where there are none; nobody would believe what they sign.
  if (!env.MESH_KEY && !existsSync(join(dataFolder, keysFile))) {
    throw new UsageError(
      `No mesh key: set MESH_KEY, or PARLEY_DATA_DIR to the folder of a mesh (${dataFolder} has no ${keysFile})`,
    );
  }
  const { MESH_KEY } = readSettings(env.MESH_KEY ? env : await withKeys(env, dataFolder), { MESH_KEY: secretKey });
  return createCallers(MESH_KEY);
}

/** `host:port` from `<UNIT>_RPC_URL`, else what the mesh that runs on this data folder has announced. @throws UsageError */
export function rpcAddress(unit: string, env: Environment, dataFolder: string): string {
  const setting = `${unit.toUpperCase()}_RPC_URL`;
  const address = env[setting] || announced(join(dataFolder, addressesFile), unit);
  if (address) return address;
  throw new UsageError(
    `Where is ${unit}? Start scripts/up, or give --address HOST:PORT, ${setting}, or PARLEY_DATA_DIR of a running mesh ` +
      `(${dataFolder} has none)`,
  );
}

function announced(file: string, unit: string): string | undefined {
  if (!existsSync(file)) return undefined;
  const units: Partial<Record<string, { rpc?: string }>> = JSON.parse(readFileSync(file, 'utf8'));
  return units[unit]?.rpc;
}
