import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { root } from '../root.ts';

export interface ChildOptions {
  args?: string[];
  /** Of Node itself. */
  flags?: string[];
  /** Added to what is taken from this process: PATH, HOME, TMPDIR and the cache of compiled code. */
  env?: Record<string, string>;
}

export type Child = ReturnType<typeof startChild>;

/** The flags of Node that `scripts/up` gives. */
export const upFlags =
  /^NODE_FLAGS=(.+)$/mu.exec(readFileSync(join(root, 'scripts/up'), 'utf8'))?.[1]?.split(' ') ?? [];

/** Starts `scripts/src/<command>.ts` as a process of its own; it is killed with the test. */
export function startChild(
  t: ExecutionContext,
  command: string,
  { args = [], flags = [], env = {} }: ChildOptions = {},
) {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [...flags, join(root, `scripts/src/${command}.ts`), ...args], {
    cwd: root,
    env: { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, ...env },
  });
  const written = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      written[name] += text;
      child.emit('wrote');
    });
  }
  child.stdin.on('error', () => undefined); // it may end before it has read everything
  let isOver = false;
  // `close` rather than `exit`: what it wrote last has arrived by then.
  const ended = once(child, 'close').then(([code, signal]: (number | string | null)[]) => {
    isOver = true;
    return code ?? signal;
  });
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });

  return {
    pid: child.pid ?? 0,
    /** What it wrote so far. */
    get stdout(): string {
      return written.stdout;
    },
    get stderr(): string {
      return written.stderr;
    },
    /** Its exit code, or the signal that ended it. */
    ended,
    kill: (signal: NodeJS.Signals) => void child.kill(signal),
    write: (text: string) => void child.stdin.write(text),
    /** Resolves when what it wrote to stdout matches. @throws Error with all that it wrote when it ended before. */
    async says(pattern: RegExp): Promise<void> {
      while (!pattern.test(written.stdout)) {
        if (isOver) throw new Error(`${command} never said ${pattern}; it said:\n${written.stdout}${written.stderr}`);
        await Promise.race([once(child, 'wrote'), ended]);
      }
    },
  };
}
