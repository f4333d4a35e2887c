import { join } from 'node:path';
import { accountFor, type Engine, type EngineName, type Place } from './engine.ts';
import { type Folders, makeDataFolder } from './folders.ts';
import { kafka } from './kafka.ts';
import { withLock } from './lock.ts';
import { answers, startServer } from './one-server.ts';
import { clearPlace, ensurePlace, findPlace } from './place.ts';
import { postgres } from './postgres.ts';
import { redis } from './redis.ts';
import { s3 } from './s3.ts';
import { findProcess, stopProcess } from './server-process.ts';
import { ensureInstalled, isInstalled, UnavailableError } from './tool.ts';

/** A server that is only busy, or mends its data after a crash, is not to be taken for one that hangs. */
const patienceMs = 15_000;

export const engines: Engine[] = [postgres, redis, kafka, s3];

/** One of these for each engine that was asked for. */
export type Server = { engine: Engine } & (
  | { state: 'up'; place: Place; pid: number }
  /** It runs and does not answer. */
  | { state: 'silent'; place: Place; pid: number }
  | { state: 'down'; place: Place | undefined; installed: boolean }
  /** The environment names another server; ours is not wanted. */
  | { state: 'configured' }
  /** This machine cannot have it. */
  | { state: 'unavailable'; reason: string }
  | { state: 'failed'; reason: string }
);

export interface FleetOptions {
  folders: Folders;
  env: NodeJS.ProcessEnv;
  only: EngineName[];
  signal: AbortSignal;
  say(line: string): void;
  /** Default: this system's. */
  platform?: NodeJS.Platform;
}

/**
 * Brings the servers up that are not, all beside each other: installs what is missing, starts, waits until each answers.
 * What runs already is left as it is. One that fails or cannot be had does not keep the others down.
 * @throws the signal's reason where that was aborted; then no server is left that was only starting.
 */
export async function up(options: FleetOptions & { endWithParent?: boolean }): Promise<Server[]> {
  const servers = await locked(options, () => Promise.all(chosen(options).map((engine) => upOne(engine, options))));
  options.signal.throwIfAborted();
  return servers;
}

async function upOne(engine: Engine, options: FleetOptions & { endWithParent?: boolean }): Promise<Server> {
  const { folders, signal, endWithParent = false } = options;
  const say = (line: string) => options.say(`${engine.title}: ${line}`);
  if (isConfigured(engine, options)) {
    say(`${engine.setting} is set, that one is used`);
    return { engine, state: 'configured' };
  }
  if (!isLinux(options)) {
    const reason = 'this system is not Linux';
    say(`left out, ${reason}`);
    return { engine, state: 'unavailable', reason };
  }
  try {
    const place = await ensurePlace(engine, folders);
    const server = await look(engine, options, patienceMs);
    if (server.state === 'up') return server;
    if (await stopProcess(place.home, engine.stopSignal)) say('ran without answering, and was stopped');
    await ensureInstalled(engine.tool, { tools: folders.tools, signal, say, account: place.account });
    const reason = await engine.cannotRun?.();
    if (reason) throw new UnavailableError(reason);
    const start = performance.now();
    const pid = await startServer(engine, place, { signal, endWithParent });
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    say(`version ${engine.version(place.installed)} answers on 127.0.0.1:${place.ports.main}, started in ${seconds} s`);
    return { engine, state: 'up', place, pid };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (signal.aborted) return { engine, state: 'failed', reason };
    const state = error instanceof UnavailableError ? 'unavailable' : 'failed';
    say(state === 'unavailable' ? `left out, ${reason}` : reason);
    return { engine, state, reason };
  }
}

/** Stops the servers of this data folder, whatever the environment says. @returns those that ran. */
export async function down(options: FleetOptions): Promise<Engine[]> {
  return locked(options, async () => {
    const stopped = await Promise.all(
      chosen(options).map(async (engine) => {
        const place = findPlace(engine, options.folders);
        const ran = place !== undefined && (await stopProcess(place.home, engine.stopSignal));
        if (ran) options.say(`${engine.title}: stopped`);
        return ran ? [engine] : [];
      }),
    );
    return stopped.flat();
  });
}

/** Stops servers and deletes what they keep. Installs, addresses and passwords stay. */
export async function reset(options: FleetOptions): Promise<void> {
  await locked(options, async () => {
    await Promise.all(
      chosen(options).map(async (engine) => {
        const place = findPlace(engine, options.folders);
        if (place === undefined) return;
        await stopProcess(place.home, engine.stopSignal);
        clearPlace(place);
        options.say(`${engine.title}: stopped, its data are deleted`);
      }),
    );
  });
}

/** How the servers are right now. */
export async function status(options: FleetOptions): Promise<Server[]> {
  return Promise.all(
    chosen(options).map(async (engine): Promise<Server> => {
      return isConfigured(engine, options) ? { engine, state: 'configured' } : look(engine, options);
    }),
  );
}

async function look(engine: Engine, { folders }: FleetOptions, answerWithinMs = 0): Promise<Server> {
  const place = findPlace(engine, folders);
  const pid = place && findProcess(place.home);
  if (place === undefined || pid === undefined) {
    const installed = isInstalled(engine.tool, folders.tools, accountFor(engine));
    return { engine, state: 'down', place, installed };
  }
  return { engine, state: (await answers(engine, place, answerWithinMs)) ? 'up' : 'silent', place, pid };
}

/** What clients are configured with: of ours those that are up, of others what the environment says. */
export function settingsOf(servers: Server[], env: NodeJS.ProcessEnv): Record<string, string> {
  const pairs = servers.flatMap((server) => {
    if (server.state === 'up') return Object.entries(server.engine.settings(server.place));
    if (server.state !== 'configured') return [];
    return server.engine.settingNames.flatMap((name): [string, string][] => {
      const value = env[name];
      return value === undefined ? [] : [[name, value]];
    });
  });
  return Object.fromEntries(pairs);
}

/** A setting that names our own server, as after `eval "$(scripts/servers env)"`, speaks of no other. */
function isConfigured(engine: Engine, { env, folders }: FleetOptions): boolean {
  const value = env[engine.setting];
  if (!value) return false;
  const place = findPlace(engine, folders);
  return place === undefined || engine.settings(place)[engine.setting] !== value;
}

function chosen({ only }: FleetOptions): Engine[] {
  return engines.filter(({ name }) => only.includes(name));
}

function isLinux({ platform = process.platform }: FleetOptions): boolean {
  return platform === 'linux';
}

async function locked<T>(options: FleetOptions, work: () => Promise<T>): Promise<T> {
  if (!isLinux(options)) return work(); // no server of ours can be there, and neither can the lock
  const { folders, signal, say } = options;
  makeDataFolder(folders.data);
  const waiting = () => say('waiting for another call of scripts/servers');
  return withLock(join(folders.data, 'lock'), { signal, waiting }, work);
}
