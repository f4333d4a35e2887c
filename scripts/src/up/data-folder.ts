import { accessSync, constants, mkdirSync } from 'node:fs';
import { relative } from 'node:path';
import { root } from '../root.ts';

/**
 * Creates the data folder if it is missing, readable by its owner only. @throws Error with the folder's path if the folder cannot be used.
 */
export function prepareDataFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    const reason = cause instanceof Error && 'code' in cause ? cause.code : cause;
    throw new Error(`The data folder ${folder} cannot be written (${reason}). PARLEY_DATA_DIR chooses another.`, {
      cause,
    });
  }
}

/** Returns a path for display. Paths inside the checkout become relative to it, because commands run there. */
export function shown(path: string): string {
  const inside = relative(root, path);
  return inside.startsWith('..') ? path : inside;
}
