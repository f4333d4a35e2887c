import { spawn } from 'node:child_process';

export interface Command {
  command: string;
  args: string[];
  cwd: string;
  /** Added to the environment of this process. */
  env?: Record<string, string>;
  /** After this long it is killed with all that it started, and counts as failed. */
  timeoutMs: number;
  /** Kills it in the same way. */
  signal: AbortSignal;
  /** Receives messages that it sends with `process.send`. Default: there is no channel. */
  onMessage?: (message: unknown) => void;
}

/**
 * Runs a command in a process group of its own, so that none of its children outlives it.
 * @returns its output, stdout and stderr in the order of arrival.
 */
export async function run({ command, args, cwd, env = {}, timeoutMs, signal, onMessage }: Command) {
  const { NO_COLOR: _, ...inherited } = process.env;
  const child = spawn(command, args, {
    cwd,
    // A program reads the report: no colours, and the same symbols on every terminal.
    env: { ...inherited, FORCE_COLOR: '0', TERM: 'dumb', ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...(onMessage ? (['ipc'] as const) : [])],
    serialization: 'advanced',
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    killSignal: 'SIGKILL',
  });
  let output = '';
  if (onMessage) child.on('message', onMessage);
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  child.on('error', ({ message, cause = message }) => {
    output += `\n${command}: ${cause}\n`;
    for (const stream of child.stdio) stream?.destroy(); // what has left its group may keep them open
  });
  // A remaining child would keep the pipes open, and `close` would never be emitted.
  child.on('exit', () => killGroup(child.pid));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { ok: code === 0, output };
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
