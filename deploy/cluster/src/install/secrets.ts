import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const key = () => randomBytes(32).toString('base64');

/** Returns the keys of an installation from the file. If the file does not exist, makes new keys and writes them to it. */
export function keptKeys(file: string): Record<string, string> {
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'));
  const keys = { MESH_KEY: key(), OPERATOR_KEY: key(), SECRETS_KEYS: key(), AVATAR_TOKEN_KEYS: `k1:${key()}` };
  writeFileSync(file, JSON.stringify(keys), { mode: 0o600 });
  return keys;
}
