import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Command {
  command: string;
  args: string[];
  cwd: string;
  /** Beside the environment of this process. */
  env?: Record<string, string>;
  /** After this long it is killed with all that it started, and counts as failed. */
  timeoutMs: number;
  /** Hears what it sends by `process.send`. Default: it can send nothing. */
  onMessage?: (message: unknown) => void;
}

/** What kills each command that runs. */
const running = new Set<() => void>();
let isOver = false;

/**
 * Runs a command to its end, in a process group of its own so that nothing it started outlives it.
 * @returns all that it wrote, stdout and stderr in the order of arrival.
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
  // A process that it left behind would hold the pipes open, and `close` would never come.
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

/** Kills every command that still runs, with all that it started; none runs from then on. */
export function killAll(): void {
  isOver = true;
  for (const kill of running) kill();
}

// A report is read by a program: no colours, and the same marks on every terminal.
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
