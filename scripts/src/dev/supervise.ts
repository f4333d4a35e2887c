import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

export interface SuperviseOptions {
  /** Node's arguments for the process that is kept running. */
  args: string[];
  /** Steps that run before the first start, and when a file that matches `after` has changed. `args` are Node's arguments. */
  steps: { name: string; after: RegExp; args: string[] }[];
  /** Lists of changed files; the first list is empty. Ends when the supervisor must stop. */
  changes: AsyncIterable<string[]>;
  say: (text: string) => void;
}

/**
 * Keeps one process running and restarts it after changes. A new process starts only after the old one has exited. While a step fails, the
 * current process continues. Resolves to the exit code: 0 if the last process stopped without an error.
 */
export async function supervise({ args, steps, changes, say }: SuperviseOptions): Promise<0 | 1> {
  const due = new Set(steps);
  let current: ChildProcess | undefined;
  for await (const paths of changes) {
    for (const step of steps) if (paths.some((path) => step.after.test(path))) due.add(step);
    for (const step of due) {
      if (spawnSync(process.execPath, step.args, { stdio: 'inherit' }).status === 0) due.delete(step);
    }
    if (due.size > 0) {
      say(`${[...due].map(({ name }) => name).join(', ')} failed; what runs goes on, and the next change tries again`);
      continue;
    }
    if (current) say(`${paths[0]}${paths.length > 1 ? ` and ${paths.length - 1} more` : ''} changed, starting anew`);
    await stop(current);
    // The child has its own process group, so that the terminal's Ctrl-C reaches only the supervisor. The closed IPC channel tells the
    // child that the supervisor has ended.
    const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    child.once('exit', (code, by) => !child.killed && say(`it has ended (${code ?? by}); waiting for a change`));
    current = child;
  }
  return stop(current);
}

async function stop(child: ChildProcess | undefined): Promise<0 | 1> {
  if (child?.exitCode === null && child.signalCode === null) {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  return !child || child.exitCode === 0 ? 0 : 1;
}
