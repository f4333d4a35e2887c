import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync, rmSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processStart } from '@parley/kernel/processes/process-start';
import type { Engine, Place } from './engine.ts';
import { exec, failure } from './exec.ts';
import { makeDataFolder } from './folders.ts';
import { scriptFolder, scriptsOf } from './install.ts';

/** The timeout for a start. It is long, because another engine may be installing at the same time and use all processors. */
const startTimeoutMs = 60_000;
const askAgainMs = 100;

export interface StartOptions {
  signal: AbortSignal;
  /** Whether started servers end with the thread that started them. Otherwise they run until they are stopped. */
  endWithParent: boolean;
  /** Whether a crash of the machine may lose the data, so that a COMMIT need not wait for the disk. */
  disposable: boolean;
}

/** A program that keeps running, with its own folder. */
export interface Program {
  /** The program's folder: the working directory, `log`, and the record of its process. */
  home: string;
  /** The folder of `start.sh`, which replaces itself with the program. */
  scripts: string;
  /** The arguments of `start.sh`. */
  args?: string[];
  /** The program's environment. It inherits no other variables of this process. */
  env: NodeJS.ProcessEnv;
  stopSignal: NodeJS.Signals;
  /** Sends one request, like a client. @throws Error if there is no response within a few seconds */
  ask(): Promise<unknown>;
}

/**
 * Starts an installed server and waits until it responds. After a failed or aborted start, no process remains.
 * @returns the pid of the server, or of one that a concurrent call has started
 * @throws Error with the last lines of the server's log if the server ends before it responds
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
 * Starts a program and waits until it responds. The program and its children hold a kernel lock on the folder while they run, so that a
 * second program waits instead of using the same data. Their output goes to `log` in the folder. After a failed or aborted start, no
 * process remains.
 * @returns the pid of the program, or of one that a concurrent call has started
 * @throws Error with the last lines of the log if the program ends before it responds
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
    if (pid !== child.pid) child.kill('SIGKILL'); // this child is still waiting for the lock
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

/** Repeats `ask` until it succeeds, at least once. @throws the reason of `signal` once it is aborted */
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

/**
 * Returns the pid of the server that runs in this folder, if any. Two processes do not count: a later process with the same pid, and, if
 * this folder is a copy, the server of the original folder.
 */
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
 * Stops the server in this folder. Waits until the server and its children have ended, i.e. until the lock is released. After
 * `graceSeconds`, kills every process that still holds the lock.
 * @returns whether a server was running
 */
export async function stopServer(home: string, signal: NodeJS.Signals, graceSeconds = 20): Promise<boolean> {
  const pid = findProcess(home);
  if (pid === undefined) return false;
  const released = () => exec('flock', ['-w', String(graceSeconds), 'lock', 'true'], { cwd: home });
  send(pid, signal);
  await released().catch(async () => {
    for (const holder of lockHolders(home)) send(holder, 'SIGKILL');
    await released().catch((cause: unknown) => {
      throw new Error(`the processes ${lockHolders(home).join(' ')} in ${home} do not end`, { cause });
    });
  });
  rmSync(join(home, 'process'), { force: true });
  return true;
}

/**
 * Returns the pids of the processes that hold the lock of this folder: the server and its children. The recorded pid is not used, because
 * another process has that pid if the server has ended and only a child remains.
 */
function lockHolders(home: string): number[] {
  const lock = statSync(join(home, 'lock'));
  const pids = readdirSync('/proc').filter((name) => /^\d+$/u.test(name));
  return pids.filter((pid) => openFiles(pid).some((file) => isLocked(lock, pid, file))).map(Number);
}

function openFiles(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    return []; // the process has ended, or is another user's
  }
}

/** Reports whether a process has locked this file. A process that only waits for the lock has the file open, too. */
function isLocked({ dev, ino }: Stats, pid: string, file: string): boolean {
  try {
    const opened = statSync(`/proc/${pid}/fd/${file}`);
    const isSame = opened.dev === dev && opened.ino === ino;
    return isSame && /^lock:/mu.test(readFileSync(`/proc/${pid}/fdinfo/${file}`, 'utf8'));
  } catch {
    return false; // the process has closed the file
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Usually the process has just ended. If it still runs, it still holds the lock.
  }
}
