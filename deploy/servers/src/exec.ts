import { type ExecFileException, type ExecFileOptions, execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Thrown if this machine cannot install or run a server. */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError';
}

/** The exit code of a script whose program this machine cannot install or run. */
const unavailableCode = 69;

/**
 * Runs a command and returns its stdout. If this process is killed, the command is killed as well.
 * @throws Error with the last lines of the output if the command fails
 * @throws the signal's reason if the signal is aborted
 */
export async function exec(
  command: string,
  args: string[],
  options: Pick<ExecFileOptions, 'cwd' | 'env' | 'signal'> = {},
): Promise<string> {
  const settings = { ...options, killSignal: 'SIGKILL', maxBuffer: 64 * 2 ** 20 } as const;
  try {
    return (await promisify(execFile)('setpriv', ['--pdeathsig', 'KILL', command, ...args], settings)).stdout;
  } catch (error) {
    options.signal?.throwIfAborted();
    const { signal, code, stdout = '', stderr = '' } = error as ExecFileException;
    throw failure(command, signal ?? code, stdout + stderr);
  }
}

/**
 * Returns the error of a command that ended with this code or signal. The error's message contains the last lines of the command's output.
 */
export function failure(command: string, code: unknown, output: string): Error {
  const lines = output.trimEnd().split('\n');
  if (code === unavailableCode) return new UnavailableError(lines.at(-1));
  return new Error(`${command} ended with ${code}\n${lines.slice(-15).join('\n')}`);
}
