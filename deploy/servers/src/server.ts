import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processStart } from '@parley/kernel/processes/process-start';
import type { Engine, Place } from './engine.ts';
import { exec, failure } from './exec.ts';
import { makeDataFolder } from './folders.ts';
import { scriptFolder, scriptsOf } from './install.ts';

/** Long, because an installation of another engine may use all processors at the same time. */
const startTimeoutMs = 60_000;
const askAgainMs = 100;
/** The time after which a stopping server is killed. */
const graceSeconds = 20;

export interface StartOptions {
  signal: AbortSignal;
  /** Whether started servers end with the thread that started them. Otherwise they run until they are stopped. */
  endWithParent: boolean;
  /** Whether their data may be lost with the machine, so that a COMMIT need not wait for the disk. */
  disposable: boolean;
}

/** A program that keeps running, in a folder of its own. */
export interface Program {
  /** Its folder: the working directory, `log`, and the record of its process. */
  home: string;
  /** The folder of `start.sh`, which becomes the program. */
  scripts: string;
  /** The arguments of that script. */
  args?: string[];
  /** Its environment; the program gets nothing else of this process's. */
  env: NodeJS.ProcessEnv;
  stopSignal: NodeJS.Signals;
  /** Sends one request, like a client. @throws Error if there is no answer within seconds. */
  ask(): Promise<unknown>;
}

/**
 * Starts an installed server and waits until it answers.
 * @returns its pid, or that of the server that a concurrent call has started.
 * @throws Error with the end of its log if it ends; no process is left after a failed or aborted start.
 */
export async function startServer(engine: Engine, place: Place, options: StartOptions): Promise<number> {
  const { home, host, ports, installed, password, superuserPassword } = place;
  const env = {
    PATH: process.env.PATH,
    JAVA_HOME: process.env.JAVA_HOME,
    INSTALLED: installed,
    HOST: host,
    PORT: String(ports.main),
    SECOND_PORT: String(ports.second),
    PASSWORD: password,
    SUPERUSER_PASSWORD: superuserPassword,
    DISPOSABLE: options.disposable ? 'yes' : '',
  };
  const { stopSignal } = engine;
  return startProgram({ home, scripts: scriptsOf(engine), env, stopSignal, ask: () => engine.ask(place) }, options);
}

/**
 * Starts a program and waits until it answers. It and its children hold a kernel lock on their folder as long as they run, so that a
 * second one waits instead of using the same data. Their output goes to `log` in that folder.
 * @returns its pid, or that of the process that a concurrent call has started.
 * @throws Error with the end of its log if it ends; no process is left after a failed or aborted start.
 */
export async function startProgram(
  { home, scripts, args = [], env, stopSignal, ask }: Program,
  { signal, endWithParent }: Pick<StartOptions, 'signal' | 'endWithParent'>,
): Promise<number> {
  makeDataFolder(home);
  const log = openSync(join(home, 'log'), 'a', 0o600);
  const tie = endWithParent ? `--pdeathsig ${stopSignal.slice('SIG'.length)}` : '';
  const locked = ['flock', '-F', 'lock', 'sh', join(scriptFolder, 'start.sh'), ...args];
  const [first = '', ...rest] = [...(tie && ['setpriv', ...tie.split(' ')]), ...locked];
  const child = spawn(first, rest, {
    cwd: home,
    env: { ...env, LC_ALL: 'C.UTF-8', HOME: home, SCRIPTS: scripts, TIE: tie },
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const over = new AbortController();
  const exited = once(child, 'exit')
    .then(([code, by]: unknown[]) => over.abort(failure('it', by ?? code, readFileSync(join(home, 'log'), 'utf8'))))
    .catch((error: unknown) => over.abort(error)); // the program could not be started
  try {
    const startSignal = AbortSignal.any([signal, over.signal, AbortSignal.timeout(startTimeoutMs)]);
    await untilItAnswers(ask, startSignal);
    const pid = findProcess(home) ?? 0;
    if (pid !== child.pid) child.kill('SIGKILL'); // it is still waiting for the lock
    return pid;
  } catch (error) {
    if (findProcess(home) === child.pid) await stopServer(home, stopSignal);
    child.kill('SIGKILL');
    await exited;
    throw error;
  } finally {
    child.unref();
  }
}

/** Repeats `ask` until it succeeds, at least once. @throws the reason of `signal` once that is aborted. */
export async function untilItAnswers(ask: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await ask();
      return;
    } catch (cause) {
      if (signal.reason instanceof DOMException) throw new Error('it did not answer in time', { cause });
      signal.throwIfAborted();
    }
    await delay(askAgainMs);
  }
}

/** The pid of the server that runs in this folder, if any. A later process with the same pid does not count, nor does the server of a folder copied from elsewhere. */
export function findProcess(home: string): number | undefined {
  try {
    const [pid = '', boot, ticks, inode] = readFileSync(join(home, 'process'), 'utf8').trim().split(' ');
    const isHere = inode === String(statSync(home).ino);
    return isHere && processStart(Number(pid)) === `${boot} ${ticks}` ? Number(pid) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Stops the server of this folder, and waits until it and its children have ended, i.e. until the lock is released. After
 * 20 s it is killed.
 * @returns whether one was running.
 */
export async function stopServer(home: string, signal: NodeJS.Signals): Promise<boolean> {
  const pid = findProcess(home);
  if (pid === undefined) return false;
  const released = () => exec('flock', ['-w', String(graceSeconds), 'lock', 'true'], { cwd: home });
  send(pid, signal);
  await released().catch(() => {
    send(pid, 'SIGKILL');
    return released();
  });
  rmSync(join(home, 'process'), { force: true });
  return true;
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has just ended. If not, it still holds the lock.
  }
}
