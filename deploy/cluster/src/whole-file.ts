import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Writes a value as JSON. The file is complete or absent, even if this process is killed meanwhile. */
export function writeJson(file: string, value: unknown): void {
  const draft = `${file}.new`;
  writeFileSync(draft, JSON.stringify(value), { mode: 0o600 });
  renameSync(draft, file);
}

/**
 * Returns the value of a file that `writeJson` has written; undefined if there is no file.
 * @throws Error that names the file if the file is not JSON
 */
export function readJson<T>(file: string): T | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new Error(`${file} is not JSON`, { cause });
  }
}
