import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { root } from '../root.ts';

export type Child = ReturnType<typeof startChild>;

/**
 * Starts `scripts/src/<command>.ts` as a process of its own; it is killed with the test.
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
  /** Its output so far. */
  const written = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      written[name] += text;
      child.emit('wrote');
    });
  }
  child.stdin.on('error', () => undefined); // it may end before it has read all input
  // `close` instead of `exit`, because all output has arrived by then.
  const ended = once(child, 'close').then(([code, signal]: (number | string | null)[]) => code ?? signal);
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });

  return Object.assign(written, {
    pid: child.pid ?? 0,
    /** Its exit code, or the signal that ended it. */
    ended,
    kill: (signal: NodeJS.Signals) => void child.kill(signal),
    write: (text: string) => void child.stdin.write(text),
    /** Ends its input. */
    endInput: () => void child.stdin.end(),
    /** Resolves when its stdout matches. @throws Error with its output if it ends before. */
    async says(pattern: RegExp): Promise<void> {
      while (!pattern.test(written.stdout)) {
        if (child.stdout.closed)
          throw new Error(`${command} did not print ${pattern} but:\n${written.stdout}${written.stderr}`);
        await Promise.race([once(child, 'wrote'), ended]);
      }
    },
  });
}
