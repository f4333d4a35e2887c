import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { root } from '../root.ts';

export type Child = ReturnType<typeof startChild>;

/**
 * Starts `scripts/src/<command>.ts` as a child process, which is killed at the end of the test.
 * @param options `flags` are Node's; `env` is added to PATH, HOME, TMPDIR and the cache of compiled code.
 */
export function startChild(
  t: ExecutionContext,
  command: string,
  { args = [], flags = [], env = {} }: { args?: string[]; flags?: string[]; env?: Record<string, string> } = {},
) {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [...flags, join(root, `scripts/src/${command}.ts`), ...args], {
    cwd: root,
    env: { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, ...env },
  });
  /** The child's output so far. */
  const written = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      written[name] += text;
      child.emit('wrote');
    });
  }
  child.stdin.on('error', () => undefined); // the child may end before it has read all input
  // Waits for `close` instead of `exit`, because `close` follows all output.
  const ended = once(child, 'close').then(([code, signal]: (number | string | null)[]) => code ?? signal);
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });

  return Object.assign(written, {
    pid: child.pid ?? 0,
    /** Resolves to the exit code, or to the signal that ended the child. */
    ended,
    kill: (signal: NodeJS.Signals) => void child.kill(signal),
    write: (text: string) => void child.stdin.write(text),
    /** Ends the child's input. */
    endInput: () => void child.stdin.end(),
    /** Resolves when the child's stdout matches. @throws Error with the output if the child ends first. */
    async says(pattern: RegExp): Promise<void> {
      while (!pattern.test(written.stdout)) {
        if (child.stdout.closed)
          throw new Error(`${command} did not print ${pattern} but:\n${written.stdout}${written.stderr}`);
        await Promise.race([once(child, 'wrote'), ended]);
      }
    },
  });
}
