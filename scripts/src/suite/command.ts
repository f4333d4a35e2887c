import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Command {
  command: string;
  args: string[];
  cwd: string;
  /** Added to the environment of this process. */
  env?: Record<string, string>;
  /** After this long it is killed with all that it started, and counts as failed. */
  timeoutMs: number;
  /** Receives messages that it sends with `process.send`. Default: there is no channel. */
  onMessage?: (message: unknown) => void;
}

/** Functions that kill the running commands. */
const running = new Set<() => void>();
let isOver = false;

/**
 * Runs a command in a process group of its own, so that none of its children outlives it.
 * @returns its output, stdout and stderr in the order of arrival.
 */
export async function run({ command, args, cwd, env = {}, timeoutMs, onMessage }: Command) {
  if (isOver) return { ok: false, output: 'it was interrupted' };
  const child = spawn(command, args, {
    cwd,
    env: { ...plainEnv(), ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...(onMessage ? (['ipc'] as const) : [])],
    serialization: 'advanced',
  });
  let output = '';
  if (onMessage) child.on('message', onMessage);
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const kill = () => killGroup(child.pid);
  running.add(kill);
  // A remaining child would keep the pipes open, and `close` would never be emitted.
  child.on('exit', kill);
  const timer = setTimeout(() => {
    output += `\n${command} did not end within ${timeoutMs / 1000} s\n`;
    kill();
    for (const stream of [child.stdout, child.stderr]) stream?.destroy();
  }, timeoutMs);
  const code = await once(child, 'close').then(
    ([code]) => code,
    (error: unknown) => {
      output += `${command} did not start: ${String(error)}\n`;
    },
  );
  clearTimeout(timer);
  running.delete(kill);
  return { ok: code === 0, output };
}

/** Kills all running commands with their children. No command can be started after that. */
export function killAll(): void {
  isOver = true;
  for (const kill of running) kill();
}

// A program reads the report: no colours, and the same symbols on every terminal.
function plainEnv(): NodeJS.ProcessEnv {
  const { NO_COLOR: _, ...env } = process.env;
  return { ...env, FORCE_COLOR: '0', TERM: 'dumb' };
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    const gone = error instanceof Error && 'code' in error && error.code === 'ESRCH';
    if (!gone) throw error;
  }
}
