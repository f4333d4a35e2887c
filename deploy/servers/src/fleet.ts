import { rmSync } from 'node:fs';
import type { Engine, EngineName, Place } from './engine.ts';
import { engines } from './engines.ts';
import { UnavailableError } from './exec.ts';
import type { Folders } from './folders.ts';
import { ensureInstalled, type InstallOptions, isInstalled } from './install.ts';
import { ensurePlace, findPlace } from './place.ts';
import { findProcess, type StartOptions, startServer, stopServer, untilItAnswers } from './server.ts';

/** The timeout for a response. It is so long that a busy server, or one that recovers from a crash, is not mistaken for one that hangs. */
const answerTimeoutMs = 15_000;

/** The state of one requested engine. */
export type Server = {
  engine: Engine;
  /** A text for the terminal: the server's address, or why it is not available. */
  note: string;
} & (
  | { state: 'up'; place: Place; pid: number }
  /**
   * `configured`: the environment names another server, so none is started. `down`: the server was not started or does not respond.
   * `unavailable`: it cannot be installed on this machine. `failed`: its start failed.
   */
  | { state: 'configured' | 'down' | 'unavailable' | 'failed' }
);

/** By default, servers continue to run after the command has ended, and their data survive a crash of the machine. */
export interface FleetOptions extends Pick<InstallOptions, 'signal' | 'say'>, Partial<StartOptions> {
  signal: AbortSignal;
  folders: Folders;
  env: NodeJS.ProcessEnv;
  only: EngineName[];
  /** The address that started servers listen on. Default 127.0.0.1. */
  host?: string;
  /** Default: the platform of this machine. */
  platform?: NodeJS.Platform;
}

/**
 * Installs and starts all servers that are not up, concurrently, and waits for them. Leaves running servers unchanged. If a server fails or
 * is unavailable, the other servers start nevertheless.
 * @throws the reason of `signal` if it is aborted; afterwards, no server is still starting
 */
export async function up(options: FleetOptions): Promise<Server[]> {
  const servers = await Promise.all(chosen(options).map((engine) => upOne(engine, options)));
  options.signal.throwIfAborted();
  return servers;
}

async function upOne(engine: Engine, options: FleetOptions): Promise<Server> {
  const { folders, signal, endWithParent = false, disposable = false } = options;
  const say = (line: string) => options.say(`${engine.title}: ${line}`);
  const other = configured(engine, options);
  if (other) {
    say(other.note);
    return other;
  }
  try {
    if ((options.platform ?? process.platform) !== 'linux') throw new UnavailableError('this system is not Linux');
    const place = await ensurePlace(engine, folders, options.host);
    const server = await look(engine, options, answerTimeoutMs);
    if (server.state === 'up') return server;
    if (await stopServer(place.home, engine.stopSignal)) say('did not answer, and was stopped');
    await ensureInstalled(engine, { tools: folders.tools, signal, say });
    const start = performance.now();
    const pid = await startServer(engine, place, { signal, endWithParent, disposable });
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    say(`version ${engine.version} answers on ${place.host}:${place.ports.main}, started in ${seconds} s`);
    return running(engine, place, pid);
  } catch (error) {
    const note = error instanceof Error ? error.message : String(error);
    const state = error instanceof UnavailableError ? 'unavailable' : 'failed';
    if (!signal.aborted) say(state === 'unavailable' ? `left out, ${note}` : note);
    return { engine, state, note };
  }
}

/**
 * Stops the servers of this data folder, even if the environment names others.
 * @param clear deletes their data as well. Installations, addresses and passwords stay
 * @returns the servers that were running
 */
export async function down(options: FleetOptions, { clear = false } = {}): Promise<Engine[]> {
  const stopped = await Promise.all(
    chosen(options).map(async (engine) => {
      const place = findPlace(engine, options.folders);
      if (place === undefined) return [];
      const ran = await stopServer(place.home, engine.stopSignal);
      if (clear) rmSync(place.home, { recursive: true, force: true });
      if (ran || clear) options.say(`${engine.title}: stopped${clear ? ', its data are deleted' : ''}`);
      return ran ? [engine] : [];
    }),
  );
  return stopped.flat();
}

/** Returns the current state of the servers. */
export async function status(options: FleetOptions): Promise<Server[]> {
  return Promise.all(chosen(options).map(async (engine) => configured(engine, options) ?? look(engine, options)));
}

async function look(engine: Engine, { folders }: FleetOptions, answerWithinMs = 0): Promise<Server> {
  const place = findPlace(engine, folders);
  const pid = place && findProcess(place.home);
  if (place === undefined || pid === undefined) {
    return { engine, state: 'down', note: isInstalled(engine, folders.tools) ? 'down' : 'not installed' };
  }
  const deadline = answerWithinMs === 0 ? AbortSignal.abort() : AbortSignal.timeout(answerWithinMs);
  return untilItAnswers(() => engine.ask(place), deadline).then(
    () => running(engine, place, pid),
    () => ({ engine, state: 'down', note: `process ${pid} runs and does not answer` }),
  );
}

function running(engine: Engine, place: Place, pid: number): Server {
  const note = `up, version ${engine.version} on ${place.host}:${place.ports.main}, process ${pid}, in ${place.home}`;
  return { engine, state: 'up', place, pid, note };
}

/** Reports whether clients have a server: one that this package started, or one that the environment names. */
export function isServed({ state }: Server): boolean {
  return state === 'up' || state === 'configured';
}

/**
 * Returns the settings for clients: those of the running servers that this package started, and those of the servers that the environment
 * names.
 */
export function settingsOf(servers: Server[], env: NodeJS.ProcessEnv): Record<string, string> {
  const ofEach = servers.map((server) => {
    if (server.state === 'up') return server.engine.settings(server.place);
    if (server.state !== 'configured') return {};
    const { setting } = server.engine;
    const isIts = (name: string) => name === setting || (setting.startsWith('S3_') && name.startsWith('S3_'));
    return Object.fromEntries(Object.entries(env).filter(([name]) => isIts(name)));
  });
  return Object.assign({}, ...ofEach);
}

/**
 * Returns the server that the environment names. A server that this package started does not count, e.g. after `eval "$(scripts/servers
 * env)"`.
 */
function configured(engine: Engine, { env, folders }: FleetOptions): Server | undefined {
  const value = env[engine.setting];
  const place = findPlace(engine, folders);
  if (!value || (place && engine.settings(place)[engine.setting] === value)) return undefined;
  return { engine, state: 'configured', note: `${engine.setting} is set, that one is used` };
}

function chosen({ only }: FleetOptions): Engine[] {
  return engines.filter(({ name }) => only.includes(name));
}
