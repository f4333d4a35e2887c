import { accessSync, constants, mkdirSync } from 'node:fs';

/** Makes the data folder, for its owner alone, where it is missing. @throws Error that names it where it cannot be used. */
export function prepareDataFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new Error(`The data folder ${folder} cannot be written (${reason}). PARLEY_DATA_DIR chooses another.`, {
      cause: error,
    });
  }
}
