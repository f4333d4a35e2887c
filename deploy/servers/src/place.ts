import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Engine, Place } from './engine.ts';
import { type Folders, makeDataFolder } from './folders.ts';
import { freePorts, isFree, loopback, requireOwnAddress } from './ports.ts';
import { findProcess } from './server.ts';

const fileOf = ({ name }: Engine, { data }: Folders) => join(data, `${name}.json`);

const port = z.int().min(1).max(65_535);
const password = z.string().regex(/^[0-9a-f]{48}$/u);
/** The part of a place that is stored. */
const stored = z.object({
  host: z.string().default(loopback),
  ports: z.object({ main: port, second: port }),
  password,
  superuserPassword: password,
});

/**
 * Returns the place of a server in this data folder; undefined if the server was never started there.
 * @throws Error if another program has written the place's file, so that the folder must not be used or deleted
 */
export function findPlace(engine: Engine, folders: Folders): Place | undefined {
  const file = fileOf(engine, folders);
  if (!existsSync(file)) return undefined;
  const kept = keptIn(readFileSync(file, 'utf8'));
  if (!kept) throw new Error(`${file} is not of scripts/servers: PARLEY_SERVERS_DIR is to be a folder of its own`);
  return { ...kept, home: join(folders.data, engine.name), installed: join(folders.tools, engine.folder) };
}

function keptIn(text: string): z.infer<typeof stored> | undefined {
  try {
    return stored.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/**
 * Returns the place for a server in this data folder, and stores it in a file that only its owner can read. Keeps the ports and passwords
 * of the last run, unless another program has taken the ports. If two calls run concurrently, both return the place of the first.
 * @param host the address that the server listens on
 * @throws Error if the address is not one of this machine, or if the server is already running and listens on another address
 */
export async function ensurePlace(engine: Engine, folders: Folders, host = loopback): Promise<Place> {
  requireOwnAddress(host);
  const before = findPlace(engine, folders);
  // Our own server records its process before it listens. So the ports are tried before the process is searched: if our server has taken a
  // port, its process is found.
  const free = await Promise.all(before ? [isFree(before.ports.main, host), isFree(before.ports.second)] : []);
  const runs = before !== undefined && findProcess(before.home) !== undefined;
  if (runs && before.host !== host) {
    throw new Error(`it listens on ${before.host}, not on ${host}: stop it first (scripts/servers down)`);
  }
  if (before && before.host === host && (runs || free.every(Boolean))) return before;
  const ports = await placePorts(host);
  const { password = newPassword(), superuserPassword = newPassword() } = before ?? {};
  const file = fileOf(engine, folders);
  const draft = `${file}.${process.pid}`;
  makeDataFolder(folders.data);
  writeFileSync(draft, JSON.stringify({ host, ports, password, superuserPassword }), { mode: 0o600 });
  try {
    if (before) renameSync(draft, file);
    else linkSync(draft, file);
  } catch (error) {
    if (!existsSync(file)) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return findPlace(engine, folders) ?? ensurePlace(engine, folders, host);
}

/** Returns free ports for a server: `main` on its address, and `second` on the loopback address, where only the server itself uses it. */
async function placePorts(host: string): Promise<Place['ports']> {
  const [main = 0] = await freePorts(1, host);
  const second = (await freePorts(2)).find((port) => port !== main) ?? 0;
  return { main, second };
}

function newPassword(): string {
  return randomBytes(24).toString('hex');
}
