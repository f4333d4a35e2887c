import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type ModelServer, startModelServer } from '@parley/chassis/testing/model-server';
import { addressesFile } from '@parley/local/addresses-file';
import { root } from '@parley/servers/root';
import type { UnitAddresses } from '@parley/stories/mesh';
import { closeConnections } from './client.ts';
import type { BenchOptions } from './options.ts';

/** A process that is measured. It ends with this one. */
export interface Child<Hello = string> {
  child: ChildProcess;
  pid: number;
  /** What it said once it was up. */
  hello: Hello;
  /** From its start until then. */
  startMs: number;
  /** Answers how long that took. */
  stop(): Promise<number>;
}

/** Flags by which `collectedKb` can have a process collect what is garbage. */
const collectingFlags = ['--expose-gc', '--import', join(import.meta.dirname, 'beside/collect-on-signal.ts')];

interface ChildOptions {
  args?: string[];
  env?: Record<string, string>;
  /** Of Node itself. */
  flags?: string[];
  /** What it writes when it is up. */
  says?: string;
}

/** Starts a script in `beside/`, which calls `serve`, or one that writes `says` when it is up. */
export async function startChild<Hello = string>(
  script: string,
  { args = [], env = {}, flags = [], says = '' }: ChildOptions = {},
): Promise<Child<Hello>> {
  const begunAt = performance.now();
  const child = fork(resolve(import.meta.dirname, 'beside', script), args, {
    env: { ...process.env, LOG_LEVEL: 'fatal', ...env },
    execArgv: [...collectingFlags, ...flags],
    stdio: ['ignore', says ? 'pipe' : 'inherit', 'inherit', 'ipc'],
  });
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'exit');
  const up = Promise.withResolvers<unknown>();
  let said = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    if (said.includes(says)) up.resolve(said);
  });
  if (!says) child.once('message', up.resolve);
  void ended.then(([code]) => up.reject(new Error(`${script} ended with ${code} before it was up`)));
  const hello = (await up.promise) as Hello;
  return {
    child,
    pid: child.pid ?? 0,
    hello,
    startMs: performance.now() - begunAt,
    async stop() {
      const before = performance.now();
      child.kill('SIGTERM');
      await ended;
      process.off('exit', kill);
      return performance.now() - before;
    },
  };
}

/** In the child: says that it is up, and ends when it is told to. */
export function serve(hello: unknown, stop = async () => {}): void {
  process.once('SIGTERM', () => void stop().finally(() => process.exit(0)));
  process.once('disconnect', () => process.exit(1)); // whoever started it is gone
  process.send?.(hello);
}

/** How many things a process does for a second of the CPU of all its threads. */
export async function perCpuSecond(pid: number, things: number, work: () => Promise<unknown>): Promise<number> {
  const cpuNs = () => {
    const threads = globSync(`/proc/${pid}/task/*/schedstat`).map((file) => readFileSync(file, 'utf8'));
    return threads.reduce((sum, text) => sum + Number(text.split(' ')[0]), 0);
  };
  const before = cpuNs();
  await work();
  return (things * 1e9) / (cpuNs() - before);
}

export function residentKb(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/u.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** What is resident of all these together, after a collection. */
export async function collectedKb(pids: number[], settle: () => Promise<unknown>): Promise<number> {
  await settle();
  for (const pid of pids) process.kill(pid, 'SIGUSR2');
  await settle();
  return pids.reduce((sum, pid) => sum + residentKb(pid), 0);
}

/** The processes that this one has started, whose command line and environment have these texts. */
export function childrenOf(parent: number, command: string, setting = ''): number[] {
  const pids = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ').map(Number);
  const has = (pid: number, file: string, text: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8').includes(text);
  return pids.filter((pid) => has(pid, 'cmdline', command) && has(pid, 'environ', setting));
}

/** A data folder and a model of the bench's own. */
export interface Place {
  model: ModelServer;
  /** Starts a mesh that uses both, as `scripts/up` does; `urls` are the GraphQL endpoints of its gateways. */
  start(env?: Record<string, string>, args?: string[]): Promise<Child & { urls: string[] }>;
}

/** Runs `work` at a place that is gone afterwards. */
export async function atPlace<T>({ profileFolder }: BenchOptions, work: (place: Place) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  process.once('exit', remove);
  const text = 'These are the words of a reply that is about as long as one sentence of a friendly agent would be.';
  const model = await startModelServer({ script: { text } });
  const profiling = profileFolder ? ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`] : [];
  const NODE_OPTIONS = [...collectingFlags, ...profiling].join(' ');
  const nothing = { PARLEY_SERVERS_DIR: '', DATABASE_URL: '', LOG_FILE: '', GATEWAY_PORT: '0', STORAGE_PORT: '0' };
  const own = { HOSTED_SMALL_MODEL_URL: model.url, HOSTED_SMALL_MODEL_MODEL: 'bench', PARLEY_DATA_DIR: folder };
  const common = { ...nothing, ...own, NODE_OPTIONS, LOG_LEVEL: 'info' };

  async function start(env: Record<string, string> = {}, args: string[] = []) {
    const settings = { args, env: { ...common, ...env }, flags: ['--liftoff-only'], says: 'Stop with Ctrl-C' };
    const child = await startChild(join(root, 'scripts/src/up.ts'), settings);
    const units: UnitAddresses = JSON.parse(readFileSync(join(folder, addressesFile), 'utf8'));
    const gateways = Object.entries(units).flatMap(([name, doors]) => (name.startsWith('gateway') ? doors.public : []));
    return { ...child, urls: gateways.map((url) => `${url?.replace('localhost', '127.0.0.1')}/graphql`) };
  }
  try {
    return await work({ model, start });
  } finally {
    closeConnections(); // the model server waits for them
    await model.stop();
    remove();
    process.off('exit', remove);
  }
}
