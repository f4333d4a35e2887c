import { chmodSync, chownSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { accountFor, type Engine, type Place } from './engine.ts';
import { type Folders, reachableFolder } from './folders.ts';
import { freePorts, isFree } from './ports.ts';
import { findProcess } from './server-process.ts';
import { type EngineState, readState, writeState } from './state.ts';
import { toolFolder } from './tool.ts';

/** Where a server of this data folder is, or undefined where it never was. */
export function findPlace(engine: Engine, folders: Folders): Place | undefined {
  const state = readState(folders.data, engine.name);
  return state && placeOf(engine, folders, state);
}

/**
 * Where a server of this data folder is to run: folder, passwords and ports are those of the last time, as long as nobody
 * else has taken the ports in between.
 */
export async function ensurePlace(engine: Engine, folders: Folders): Promise<Place> {
  const before = readState(folders.data, engine.name);
  const account = accountFor(engine);
  const home = reachableFolder(folders.data, engine.name, account);
  if (before && before.home !== home && existsSync(before.home)) {
    const why = account ? `, where user ${account.uid} cannot get any more: open the folders above it to it` : '';
    throw new Error(`its data are in ${before.home}${why}`);
  }
  const isRunning = findProcess(home) !== undefined;
  const ports = before && (isRunning || (await areFree(before.ports))) ? before.ports : await newPorts(engine);
  const state = { home, ports, secrets: before?.secrets ?? engine.makeSecrets() };
  if (before === undefined || before.ports !== ports || before.home !== home) {
    writeState(folders.data, engine.name, state);
  }
  mkdirSync(home, { recursive: true });
  chmodSync(home, 0o700);
  if (account) chownSync(home, account.uid, account.gid);
  return placeOf(engine, folders, state);
}

/** Deletes what a server keeps; address and passwords stay, so that whoever is configured for it finds it again. */
export function clearPlace({ home }: Place): void {
  rmSync(home, { recursive: true, force: true });
}

function placeOf(engine: Engine, folders: Folders, { home, ports, secrets }: EngineState): Place {
  const account = accountFor(engine);
  return { home, ports, secrets, account, installed: toolFolder(engine.tool, folders.tools, account) };
}

async function newPorts(engine: Engine): Promise<Record<string, number>> {
  const ports = await freePorts(engine.ports.length);
  return Object.fromEntries(engine.ports.map((name, index) => [name, ports[index] ?? 0]));
}

async function areFree(ports: Record<string, number>): Promise<boolean> {
  const free = await Promise.all(Object.values(ports).map(isFree));
  return free.every(Boolean);
}
