import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { root } from './root.ts';

export interface Folders {
  /** Installed programs; every data folder shares them. */
  tools: string;
  /** Data, passwords, logs. */
  data: string;
}

export function foldersOf(env: NodeJS.ProcessEnv): Folders {
  return { tools: join(root, '.tools/servers'), data: resolve(root, env.PARLEY_SERVERS_DIR || '.parley/servers') };
}

/** Makes a folder for its owner alone. */
export function makeDataFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}
