import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processStart } from '@parley/kernel/process-start';
import type { Engine, Place } from './engine.ts';
import { exec, failure } from './exec.ts';
import type { FleetOptions } from './fleet.ts';
import { makeDataFolder } from './folders.ts';
import { scriptFolder, scriptsOf } from './install.ts';

/** Generous, since an install of another engine may keep all processors busy at the same time. */
const startTimeoutMs = 60_000;
const askAgainMs = 100;
/** How long a server may take to end before it is killed. */
const graceSeconds = 20;

type StartOptions = Required<Pick<FleetOptions, 'signal' | 'endWithParent'>>;

/**
 * Starts an installed server and waits until it answers. It and its children hold a lock of the kernel's on their folder as
 * long as they live, so that a second one never runs on the same data: it waits. Their output goes to `log` in that folder.
 * @returns its pid, or that of the one that another call has started at the same time.
 * @throws Error with the end of its log where it ends; a start that fails or is cut off leaves no process.
 */
export async function startServer(engine: Engine, place: Place, options: StartOptions): Promise<number> {
  const { signal, endWithParent } = options;
  const { home, ports, installed, password, superuserPassword } = place;
  makeDataFolder(home);
  const log = openSync(join(home, 'log'), 'a', 0o600);
  const tie = endWithParent ? `--pdeathsig ${engine.stopSignal.slice('SIG'.length)}` : '';
  const locked = ['flock', '-F', 'lock', 'sh', join(scriptFolder, 'start.sh')];
  const [first = '', ...rest] = [...(tie && ['setpriv', ...tie.split(' ')]), ...locked];
  const child = spawn(first, rest, {
    cwd: home,
    // Nothing else of this program's environment reaches the server.
    env: {
      PATH: process.env.PATH,
      JAVA_HOME: process.env.JAVA_HOME,
      LC_ALL: 'C.UTF-8',
      HOME: home,
      SCRIPTS: scriptsOf(engine),
      INSTALLED: installed,
      PORT: String(ports.main),
      SECOND_PORT: String(ports.second),
      PASSWORD: password,
      SUPERUSER_PASSWORD: superuserPassword,
      TIE: tie,
    },
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const over = new AbortController();
  const exited = once(child, 'exit')
    .then(([code, by]: unknown[]) => over.abort(failure('it', by ?? code, readFileSync(join(home, 'log'), 'utf8'))))
    .catch((error: unknown) => over.abort(error)); // there was nothing to run
  try {
    const deadline = AbortSignal.any([signal, over.signal, AbortSignal.timeout(startTimeoutMs)]);
    await untilItAnswers(() => engine.ask(place), deadline);
    const pid = findProcess(home) ?? 0;
    if (pid !== child.pid) child.kill('SIGKILL'); // it waits for the lock
    return pid;
  } catch (error) {
    if (findProcess(home) === child.pid) await stopServer(home, engine.stopSignal);
    child.kill('SIGKILL');
    await exited;
    throw error;
  } finally {
    child.unref();
  }
}

/** Asks until there is an answer, once at least. @throws the reason of `deadline` once that is aborted. */
export async function untilItAnswers(ask: () => Promise<unknown>, deadline: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await ask();
      return;
    } catch (cause) {
      if (deadline.reason instanceof DOMException) throw new Error('it did not answer in time', { cause });
      deadline.throwIfAborted();
    }
    await delay(askAgainMs);
  }
}

/** The pid of the server that runs in this folder, if one does. A later process of the same pid is none, nor that of a folder copied here. */
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
 * Ends the server that runs in this folder, and waits until it and its children are gone: until they hold the lock no more.
 * After 20 s it is killed.
 * @returns whether there was one.
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
    // It has just ended. Where it has not, its lock tells.
  }
}
