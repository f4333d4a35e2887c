import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { root } from '../root.ts';

export interface ChildOptions {
  args?: string[];
  /** Of Node itself. */
  flags?: string[];
  /** Added to PATH, HOME and TMPDIR, all that is taken from this process. */
  env?: Record<string, string>;
}

/** One of the commands in scripts/, as a process of its own. */
export interface Child {
  pid: number;
  /** What it wrote so far. */
  readonly stdout: string;
  readonly stderr: string;
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals>;
  kill(signal: NodeJS.Signals): void;
  write(text: string): void;
  /** No more input. */
  endInput(): void;
  /** Resolves when what it wrote to stdout matches; rejects when it ended before. */
  says(pattern: RegExp): Promise<void>;
}

/** The flags of Node that `scripts/up` gives. */
export const upFlags =
  /^NODE_FLAGS=(.+)$/mu.exec(readFileSync(join(root, 'scripts/up'), 'utf8'))?.[1]?.split(' ') ?? [];

/** Starts `scripts/src/<command>.ts`; it is killed with the test, or with whatever else tears down. */
export function startChild(
  t: Pick<ExecutionContext, 'teardown'>,
  command: string,
  { args = [], flags = [], env = {} }: ChildOptions = {},
): Child {
  const { PATH, HOME, TMPDIR } = process.env;
  const child = spawn(process.execPath, [...flags, join(root, `scripts/src/${command}.ts`), ...args], {
    cwd: root,
    env: { PATH, HOME, ...(TMPDIR && { TMPDIR }), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const written = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      written[name] += text;
      child.emit('wrote');
    });
  }
  child.stdin.on('error', () => undefined); // it may end before it has read everything
  const ended = endOf(child);
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });

  return {
    pid: child.pid ?? 0,
    get stdout() {
      return written.stdout;
    },
    get stderr() {
      return written.stderr;
    },
    ended,
    kill: (signal) => void child.kill(signal),
    write: (text) => void child.stdin.write(text),
    endInput: () => void child.stdin.end(),
    async says(pattern) {
      let over = false;
      const end = ended.then((result) => {
        over = true;
        return result;
      });
      while (!pattern.test(written.stdout)) {
        if (over) {
          const output = `${written.stdout}${written.stderr}`;
          throw new Error(`${command} ended with ${await end} and never said ${pattern}; it said:\n${output}`);
        }
        await Promise.race([once(child, 'wrote'), end]);
      }
    },
  };
}

/** `close` rather than `exit`: what it wrote last has arrived by then. */
async function endOf(child: ChildProcess): Promise<number | NodeJS.Signals> {
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return code ?? signal ?? 'SIGKILL';
}
