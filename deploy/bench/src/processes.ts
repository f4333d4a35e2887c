import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { addressesFile } from '@parley/local/addresses-file';
import { root } from '@parley/servers/root';
import { gatewaysIn, type UnitAddresses } from '@parley/stories/mesh';
import { startModelServer } from '@parley/testing/model-server';
import { closeConnections } from './client.ts';
import { cpuOf, tickMs } from './costs.ts';
import { modelName } from './model-name.ts';

export interface BenchOptions {
  /** The number of rounds. Each round measures all variants one after the other. */
  rounds: number;
  /** Runs everything with small counts, for tests. The figures are then meaningless. */
  short: boolean;
  /** The parts `local` and `mesh` measure only the cost of a turn. */
  turnsOnly: boolean;
  /** Number of chunks of an additional knowledge base, which has its own partition. */
  largest?: number | undefined;
  /** Number of chunks of another tenant's base. It shares the partition of the measured bases. */
  others?: number | undefined;
  /** The URL of a database that keeps the knowledge chunks for the next run. */
  keptUrl?: string | undefined;
  /** Runs only the flood whose name contains this text. */
  flood?: string | undefined;
  profileFolder?: string | undefined;
  /** Receives the name of the next measurement. */
  say: (text: string) => void;
  /** Receives the name of a measurement that this machine cannot make, with the reason. */
  leaveOut: (text: string) => void;
}

/** Waits until the processes are idle after connections were opened or closed. */
export const settled = ({ short }: BenchOptions) => delay(short ? 50 : 1_500);

/** Node's option that loads the bench's signal handlers into measured processes. */
const loaded = `--import=${pathToFileURL(join(import.meta.dirname, 'beside/on-signals.ts'))}`;

/** Settings that raise limits, because one client stands for many users: all its connections come from one IP address and one sign-in. */
export const limits = {
  IDENTITY_ACCESS_TOKEN_TTL_S: '7200',
  GATEWAY_CONNECTIONS_PER_CLIENT: '20000',
  GATEWAY_SOCKETS_PER_CLIENT: '20000',
  GATEWAY_SUBGRAPH_CALLS_PER_CLIENT: '64',
};

/** Settings with which `scripts/up` makes glibc return freed memory to the system. */
const asUp = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072' };

/** A measured process. It ends with the bench or when it is disposed of. */
export type Child<Hello = string> = Awaited<ReturnType<typeof startChild<Hello>>>;

/** Starts a script: one in `beside/` that calls `serve`, or one that prints the banner of `scripts/up`. @param flags options of Node */
export async function startChild<Hello = string>(
  script: string,
  env: Record<string, string> = {},
  { args = [], flags = [] }: { args?: string[]; flags?: string[] } = {},
) {
  const begunAt = performance.now();
  const child = fork(resolve(import.meta.dirname, 'beside', script), args, {
    env: { ...process.env, LOG_LEVEL: 'fatal', ...env },
    execArgv: [loaded, ...flags],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  const up = Promise.withResolvers<unknown>();
  child.once('message', up.resolve);
  const output = createInterface(child.stdout as NonNullable<typeof child.stdout>);
  output.on('line', (line) => line.startsWith('Stop with Ctrl-C') && up.resolve(line));
  const ended = once(child, 'exit')
    .then(([code]) => up.reject(new Error(`${script} ended with ${code} before it was up`)))
    .finally(() => process.off('exit', kill));
  const hello = (await up.promise) as Hello;
  const startMs = performance.now() - begunAt;

  async function stop(): Promise<void> {
    child.kill('SIGTERM');
    await ended;
  }
  return {
    child,
    pid: child.pid ?? 0,
    /** The first message of the child. */
    hello,
    /** The time from the start to the first message, in ms. */
    startMs,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Must be called in the child: reports to the parent that the child is up, and makes the child end at SIGTERM. */
export function serve(hello: unknown, stop = async () => {}): void {
  process.once('SIGTERM', () => void stop().finally(() => process.exit(0)));
  process.once('disconnect', () => process.exit(1)); // the parent has ended
  process.send?.(hello);
}

/** Measures how many items a process handles per CPU second. @param things the number of items that are handled during `work` */
export async function perCpuSecond(pid: number, things: number, work: () => Promise<unknown>): Promise<number> {
  const cpuMs = () => cpuOf([{ name: '', pid }]).CPU ?? Number.NaN;
  const before = cpuMs();
  await work();
  return (things * 1_000) / Math.max(tickMs, cpuMs() - before);
}

export function residentKb(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/u.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** Returns the resident memory of each process after a garbage collection, in KB. */
export async function collectedKb(pids: number[], options: BenchOptions): Promise<number[]> {
  await settled(options);
  for (const pid of pids) process.kill(pid, 'SIGUSR2');
  await settled(options);
  return pids.map(residentKb);
}

/** A mesh, started as `scripts/up` does. */
export type StartedMesh = Awaited<ReturnType<Awaited<ReturnType<typeof openPlace>>['start']>>;

/**
 * Makes a data folder and a model server, and starts meshes that use both. Disposing of the returned place removes the folder and stops the
 * model server.
 */
export async function openPlace({ profileFolder }: BenchOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  process.once('exit', remove);
  const text = 'These are the twenty words of a reply that is about as long as one sentence of an agent is.';
  const model = await startModelServer({ script: { text } });
  const profiling = profileFolder ? ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`] : [];
  const NODE_OPTIONS = [loaded, ...profiling].join(' ');
  const nothing = {
    PARLEY_SERVERS_DIR: '',
    DATABASE_URL: '',
    LOG_FILE: '',
    GATEWAY_PORT: '0',
    VOICE_PORT: '0',
    STORAGE_PORT: '0',
  };
  const own = { HOSTED_SMALL_MODEL_URL: model.url, HOSTED_SMALL_MODEL_MODEL: modelName, PARLEY_DATA_DIR: folder };
  // A separate folder for temporary files, in which the bench finds the socket of an embedded database.
  const temporary = join(folder, 'tmp');
  mkdirSync(temporary);
  const common = {
    ...asUp,
    ...nothing,
    ...own,
    NODE_OPTIONS,
    LOG_LEVEL: 'info',
    TMPDIR: temporary,
    BENCH_METERS: temporary,
  };
  return {
    folder,
    model,
    /**
     * Starts a mesh as `scripts/up` does. `urls`: the GraphQL endpoints of its gateways. `units`: the addresses of its units. `temporary`:
     * its folder for temporary files.
     */
    async start(env: Record<string, string> = {}, ...args: string[]) {
      const options = { args, flags: ['--liftoff-only'] };
      const child = await startChild(join(root, 'scripts/src/up.ts'), { ...common, ...env }, options);
      const units: UnitAddresses = JSON.parse(readFileSync(join(folder, addressesFile), 'utf8'));
      const urls = gatewaysIn(units).map((url) => url.replace('localhost', '127.0.0.1'));
      return { ...child, urls, units, temporary, modelUrl: model.url };
    },
    async [Symbol.asyncDispose]() {
      closeConnections(); // the model server would wait for open connections
      await model.stop();
      remove();
      process.off('exit', remove);
    },
  };
}
