import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Account } from './account.ts';
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

/** Makes a folder for its owner alone; others may pass through it to what is theirs, nothing more. */
export function makeDataFolder(folder: string): void {
  mkdirSync(dirname(folder), { recursive: true, mode: 0o700 });
  mkdirSync(folder, { recursive: true, mode: 0o711 });
}

/**
 * A folder below `parent`, or where another user would not get there, one below the machine's folder for temporary
 * files whose name follows from the path of `parent`. It is not made.
 */
export function reachableFolder(parent: string, name: string, account: Account | undefined): string {
  if (account === undefined || isOpenToAll(parent)) return join(parent, name);
  return join(sharedFolder(parent), name);
}

/** Whether any user may pass through this folder and all those above it. */
export function isOpenToAll(folder: string): boolean {
  const path = resolve(folder);
  const open = (statSync(path).mode & 0o001) !== 0;
  return open && (path === '/' || isOpenToAll(dirname(path)));
}

function sharedFolder(path: string): string {
  const key = createHash('sha256').update(resolve(path)).digest('hex').slice(0, 16);
  const folder = join(tmpdir(), `parley-${key}`);
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  // Anybody may have made that name before us, as a folder or as a link to one.
  const found = lstatSync(folder);
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0) {
    throw new Error(`${folder} is somebody else's: remove it`);
  }
  return folder;
}
