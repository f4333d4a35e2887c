import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '@parley/kernel/settings/config';

/** The name of a file in the data folder that contains the mesh's generated keys. */
export const keysFile = 'keys.json';

/** The settings with the keys that every mesh needs. */
const keyNames = ['MESH_KEY', 'OPERATOR_KEY', 'SECRETS_KEYS', 'AVATAR_TOKEN_KEYS'] as const;
type Keys = Record<(typeof keyNames)[number], string>;

/**
 * Adds missing keys to an environment. They are generated once and stored in the data folder's `keys.json`, mode 0600, because
 * anyone who can read that file can act as any tenant.
 */
export async function withKeys(env: Environment, dataFolder: string): Promise<Environment> {
  if (keyNames.every((name) => env[name])) return env;
  const kept = await keptKeys(dataFolder);
  return { ...kept, ...Object.fromEntries(Object.entries(env).filter(([, value]) => value)) };
}

async function keptKeys(dataFolder: string): Promise<Keys> {
  const file = join(dataFolder, keysFile);
  if (!existsSync(file)) {
    await mkdir(dataFolder, { recursive: true, mode: 0o700 });
    // The file is written under a temporary name and then linked. So the file is either complete or absent, and of two concurrent starts,
    // one wins.
    const draft = `${file}.${process.pid}`;
    await writeFile(draft, `${JSON.stringify(newKeys(), null, 2)}\n`, { mode: 0o600, flush: true });
    await link(draft, file).catch((error: unknown) => {
      if (!existsSync(file)) throw error;
    });
    await unlink(draft);
  }
  const keys = parse(await readFile(file, 'utf8'));
  if (keys) return keys;
  throw new Error(
    `${file} is damaged. It contains the keys of this folder's data: restore it, or start with another folder.`,
  );
}

function parse(text: string): Keys | undefined {
  try {
    const keys: Keys = JSON.parse(text);
    return keyNames.every((name) => typeof keys[name] === 'string') ? keys : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Generates keys. A key ring contains `id:key` pairs separated by commas; the first key is in use. A ring may also be a single key without
 * an id.
 */
export function newKeys(): Keys {
  const key = () => randomBytes(32).toString('base64');
  return { MESH_KEY: key(), OPERATOR_KEY: key(), SECRETS_KEYS: `k1:${key()}`, AVATAR_TOKEN_KEYS: `k1:${key()}` };
}
