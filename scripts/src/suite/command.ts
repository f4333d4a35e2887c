import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Command {
  command: string;
  args: string[];
  cwd: string;
  /** Variables that are added to the environment of this process. */
  env?: Record<string, string>;
  /** After this time the command is killed with all its child processes, and counts as failed. `extend` of `onMessage` can prolong it. */
  timeoutMs: number;
  /** When this signal aborts, the command is killed, as after its time limit. */
  signal: AbortSignal;
  /**
   * Receives messages that the command sends with `process.send`. Default: there is no channel.
   * @param extend allows the command the given time plus `timeoutMs`, counted from now; never shortens the time limit
   */
  onMessage?: (message: unknown, extend: (ms: number) => void) => void;
}

/**
 * Runs a command in its own process group, so that no child process outlives the command.
 * @returns stdout and stderr in order of arrival, and whether the exit code is 0
 */
export async function run({ command, args, cwd, env = {}, timeoutMs, signal, onMessage }: Command) {
  if (signal.aborted) return { ok: false, output: `${command}: ${signal.reason}` };
  const { NO_COLOR: _, ...inherited } = process.env;
  using limit = startLimit(timeoutMs);
  const stopSignal = AbortSignal.any([signal, limit.signal]);
  const child = spawn(command, args, {
    cwd,
    // The report is parsed, so it has no colours, and the same symbols on every terminal.
    env: { ...inherited, FORCE_COLOR: '0', TERM: 'dumb', ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...(onMessage ? (['ipc'] as const) : [])],
    serialization: 'advanced',
  });
  let output = '';
  if (onMessage) child.on('message', (message) => onMessage(message, limit.extend));
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  child.on('error', ({ message }) => {
    output += `\n${message}\n`;
  });
  // A remaining child would keep the pipes open, and `close` would never be emitted.
  child.on('exit', () => killGroup(child.pid));
  try {
    // This signal is not passed to `spawn`, whose `signal` has no effect after the command itself has exited.
    const [code] = await once(child, 'close', { signal: stopSignal });
    return { ok: code === 0, output };
  } catch {
    if (child.kill('SIGKILL')) await once(child, 'exit');
    // A process that has left the group may keep the streams open.
    for (const stream of child.stdio) stream?.destroy();
    if (child.connected) child.disconnect();
    if (limit.signal.aborted) output += `\n${command} did not end within ${limit.seconds()} s\n`;
    else if (signal.aborted) output += `\n${command}: ${signal.reason}\n`;
    return { ok: false, output };
  }
}

/** Aborts `signal` after a time that can be extended. */
function startLimit(timeoutMs: number) {
  const over = new AbortController();
  const begun = performance.now();
  let endsAt = begun + timeoutMs;
  let timer = setTimeout(() => over.abort(), timeoutMs);
  return {
    signal: over.signal,
    /** Returns the current limit, counted from the start. */
    seconds: () => Math.round(endsAt - begun) / 1000,
    extend(ms: number) {
      endsAt = Math.max(endsAt, performance.now() + ms + timeoutMs);
      clearTimeout(timer);
      timer = setTimeout(() => over.abort(), endsAt - performance.now());
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
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
