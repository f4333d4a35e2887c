import { spawn } from 'node:child_process';
import type { Account } from './account.ts';

export interface ExecOptions {
  cwd?: string;
  /** The whole environment; default: this program's. */
  env?: NodeJS.ProcessEnv;
  /** What it reads on stdin. */
  input?: string;
  account?: Account | undefined;
  signal?: AbortSignal;
}

const shownLines = 15;

/** Should this program be killed, the command is too: it would else write beside the one that the next call starts. */
const tie = process.platform === 'linux' ? ['setpriv', '--pdeathsig', 'KILL'] : [];

/**
 * Runs a command to its end and answers what it wrote to stdout. It has a process group of its own, so that Ctrl-C
 * reaches this program alone, which then ends the command with all that it started.
 * @throws Error with the last lines of its output where it fails.
 */
export async function exec(command: string, args: string[], options: ExecOptions = {}): Promise<string> {
  const { cwd, env = process.env, input = '', account, signal } = options;
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const [first = '', ...rest] = [...tie, command, ...args];
  const child = spawn(first, rest, { cwd, env, ...account, detached: true, stdio: 'pipe' });
  let stdout = '';
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stdin.on('error', () => undefined).end(input); // a command that reads nothing may be gone before
  child.on('error', reject);
  child.on('close', (code, killedBy) => {
    if (signal?.aborted) reject(signal.reason);
    else if (code === 0) resolve(stdout);
    else reject(new Error(`${command} ended with ${killedBy ?? code}\n${lastLines(output, shownLines)}`));
  });
  const end = () => killGroup(child.pid);
  signal?.addEventListener('abort', end);
  try {
    return await promise;
  } finally {
    signal?.removeEventListener('abort', end);
  }
}

/** Whether a command runs at all, and ends well. */
export async function works(command: string, args: string[]): Promise<boolean> {
  return exec(command, args).then(
    () => true,
    () => false,
  );
}

export function lastLines(text: string, count: number): string {
  return text.trimEnd().split('\n').slice(-count).join('\n');
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
