import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processStart } from '@parley/chassis/process-start';
import type { Account } from './account.ts';
import type { ServerCommand } from './engine.ts';
import { exec, lastLines } from './exec.ts';

export interface ProcessOptions extends ServerCommand {
  /** The server's folder; two processes never run in one. */
  home: string;
  account: Account | undefined;
  /** Sent to the server when the thread that started it ends; by default the server goes on. */
  endWithParent?: NodeJS.Signals | undefined;
}

export interface StartedProcess {
  pid: number;
  /** Rejects when the server ends, with the last lines of its log. Never resolves. */
  ended: Promise<never>;
  /** Ends it, however far its start has come, and waits until it is gone. */
  stop(signal: NodeJS.Signals): Promise<void>;
  /** Lets this program end while the server goes on. */
  leave(): void;
}

/** How long a server waits for what a killed one has left behind, its children included, to be gone. */
const takeOverSeconds = 15;
const heldByAnother = 75;
const graceMs = 20_000;
const pollMs = 20;
const shownLines = 12;

/**
 * Writes down its own pid and start before it becomes the server: so the record is there from the first moment, whatever
 * happens to the program that started it.
 */
const record =
  'read -r boot </proc/sys/kernel/random/boot_id; echo "$$ $boot $(cut -d" " -f22 /proc/$$/stat)" >process.new; mv process.new process; exec "$@"';

/**
 * Starts a server in its folder, under a lock of the kernel's that it and its children hold as long as they live: a second
 * one on the same data waits, and then fails. Its output goes to `log` in that folder.
 */
export function startProcess({ home, command, args, env, account, endWithParent }: ProcessOptions): StartedProcess {
  const log = openSync(join(home, 'log'), 'a', 0o600);
  const tie = endWithParent ? ['setpriv', '--pdeathsig', endWithParent.slice('SIG'.length)] : [];
  const locked = ['flock', '-F', '-w', String(takeOverSeconds), '-E', String(heldByAnother), 'lock'];
  const [first = '', ...rest] = [...tie, ...locked, 'sh', '-c', record, 'sh', command, ...args];
  const child = spawn(first, rest, {
    cwd: home,
    env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', HOME: home, ...env },
    ...account,
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const ended = once(child, 'exit').then(([code, signal]: unknown[]) => {
    if (code === heldByAnother) throw new Error(`another process holds ${home}`);
    const said = lastLines(readFileSync(join(home, 'log'), 'utf8'), shownLines);
    throw new Error(`it ended with ${signal ?? code}; its log ends with\n${said}`);
  });
  ended.catch(() => undefined); // whoever waits for it hears of it
  return {
    pid: child.pid ?? 0,
    ended,
    async stop(signal) {
      if (child.pid === undefined) return;
      child.kill(signal);
      const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await ended.catch(() => clearTimeout(timer));
      await untilReleased(home);
    },
    leave: () => child.unref(),
  };
}

/** The pid of the server that runs in this folder, if one does. A later process of the same pid is none. */
export function findProcess(home: string): number | undefined {
  let line: string;
  try {
    line = readFileSync(join(home, 'process'), 'utf8').trim();
  } catch {
    return undefined;
  }
  const [pid = '', ...start] = line.split(' ');
  return processStart(Number(pid)) === start.join(' ') ? Number(pid) : undefined;
}

/**
 * Ends the server that runs in this folder and waits until it is gone; after 20 s it is killed.
 * @returns whether there was one.
 */
export async function stopProcess(home: string, signal: NodeJS.Signals): Promise<boolean> {
  const pid = findProcess(home);
  if (pid === undefined) return false;
  send(pid, signal);
  const deadline = performance.now() + graceMs;
  let killed = signal === 'SIGKILL';
  while (findProcess(home) === pid) {
    if (!killed && performance.now() > deadline) {
      killed = true;
      send(pid, 'SIGKILL');
    }
    await delay(pollMs);
  }
  rmSync(join(home, 'process'), { force: true });
  await untilReleased(home);
  return true;
}

/** Children outlive a killed server for a moment, and hold its port and its lock. */
async function untilReleased(home: string): Promise<void> {
  await exec('flock', ['-w', String(takeOverSeconds), 'lock', 'true'], { cwd: home });
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    const isGone = error instanceof Error && 'code' in error && error.code === 'ESRCH';
    if (!isGone) throw error;
  }
}
