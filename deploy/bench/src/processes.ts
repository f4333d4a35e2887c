import { fork } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

/** A process that is measured. */
export interface Child<Hello> {
  pid: number;
  /** What it said once it was up. */
  hello: Hello;
  /** From its start until then. */
  startMs: number;
  send(message: number): void;
  /** Hears what it says by itself from now on. */
  onMessage(listener: (message: unknown) => void): void;
  /** Answers how long that took. */
  stop(): Promise<number>;
}

export interface ChildOptions {
  args?: string[];
  env?: Record<string, string>;
  /** Of Node itself. */
  flags?: string[];
  /** What it writes when it is up; by default it sends a message, as `serve` does. */
  says?: string;
}

/** Flags by which `collectedKb` can have a process collect what is garbage. */
export const collectingFlags = ['--expose-gc', '--import', join(import.meta.dirname, 'collect-on-signal.ts')];

/** Starts a script and waits until it is up. It ends with this process. */
export async function startChild<Hello>(script: string, options: ChildOptions = {}): Promise<Child<Hello>> {
  const { args = [], env = {}, flags = [], says } = options;
  const begunAt = performance.now();
  const child = fork(script, args, {
    env: { ...process.env, ...env },
    execArgv: [...collectingFlags, ...flags],
    stdio: ['ignore', says ? 'pipe' : 'inherit', 'inherit', 'ipc'],
  });
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'exit');
  const up = says && child.stdout ? whenSaid(child.stdout, says) : once(child, 'message').then(([hello]) => hello);
  const failed = ended.then(([code]) => {
    throw new Error(`${script} ended with ${code} before it was up`);
  });
  const hello = (await Promise.race([up, failed])) as Hello;
  return {
    pid: child.pid ?? 0,
    hello,
    startMs: performance.now() - begunAt,
    send: (message) => void child.send(message),
    onMessage: (listener) => void child.on('message', listener),
    async stop() {
      const before = performance.now();
      child.kill('SIGTERM');
      await ended;
      process.off('exit', kill);
      return performance.now() - before;
    },
  };
}

/** What comes later is read, too, so that it can be written. */
function whenSaid(output: Readable, text: string): Promise<string> {
  let said = '';
  return new Promise((resolve) => {
    output.setEncoding('utf8').on('data', (piece: string) => {
      said += piece;
      if (said.includes(text)) resolve(said);
    });
  });
}

/** In the child: says that it is up, and ends when it is told to. */
export function serve(hello: unknown, stop: () => Promise<unknown>): void {
  process.once('SIGTERM', () => void stop().finally(() => process.exit(0)));
  process.once('disconnect', () => process.exit(1)); // whoever started it is gone
  process.send?.(hello);
}

/** What all threads of a process have used so far. */
export function cpuMs(pid: number): number {
  const threads = globSync(`/proc/${pid}/task/*/schedstat`).map((file) => readFileSync(file, 'utf8'));
  return threads.reduce((sum, text) => sum + Number(text.split(' ')[0]), 0) / 1e6;
}

/** What is resident of a process. */
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
