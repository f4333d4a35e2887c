import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Environment, readSettings } from '@parley/kernel/settings/config';
import { serversFolderSetting, serversHostSetting } from '@parley/kernel/settings/shared-settings';
import { root } from './root.ts';

export interface Folders {
  /** The folder of installed programs, shared by all data folders. */
  tools: string;
  /** The folder of data, passwords and logs. */
  data: string;
}

export function foldersOf(env: Environment): Folders {
  const { data } = readSettings(env, { data: serversFolderSetting });
  return { tools: join(root, '.tools/servers'), data: resolve(root, data) };
}

/** Returns the address that servers of `scripts/servers` listen on. */
export function serversHost(env: Environment): string {
  return readSettings(env, { host: serversHostSetting }).host;
}

/** Creates a folder that only its owner can access. */
export function makeDataFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}
