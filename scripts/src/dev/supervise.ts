import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Step } from './preparation.ts';
import type { Changes } from './watch-trees.ts';

export interface SuperviseOptions {
  /** What is kept running. */
  command: [string, ...string[]];
  changes: Pick<Changes, 'next' | 'forget'>;
  /** Files that count as changed before the first start. */
  initial: string[];
  /** What has to be done before a start, after these files changed. */
  stepsFor: (paths: Iterable<string>) => Step[];
  say: (text: string) => void;
  /** Ends everything. */
  signal: AbortSignal;
  /** How long a stop may take before it is a kill. Default 12 s: the mesh gives itself 9. */
  stopTimeoutMs?: number;
}

/**
 * Keeps one process running and starts it anew after changes, never two at once: the old one's exit comes before the new one's
 * start. While a step of the preparation fails, what runs goes on. Answers the exit code: 0 when the last one ended in order.
 */
export async function supervise(options: SuperviseOptions): Promise<number> {
  const { command, changes, initial, stepsFor, say, signal, stopTimeoutMs = 12_000 } = options;
  const stopped = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  /** Changes whose preparation has not succeeded yet. */
  const unprepared = new Set<string>();
  let current: ReturnType<typeof start> | undefined;

  for (let paths: string[] | undefined = initial; paths && !signal.aborted; ) {
    for (const path of paths) unprepared.add(path);
    const failed = await firstFailure(stepsFor(unprepared));
    if (failed && !signal.aborted) {
      say(`${failed.name} failed; ${current?.runs() ? 'the mesh goes on as it was' : 'waiting for a change'}`);
    } else if (!signal.aborted) {
      unprepared.clear();
      await startAnew(paths);
    }
    paths = await Promise.race([changes.next(), stopped]);
  }
  return (await current?.stop()) ?? 0;

  async function startAnew([first, ...more]: string[]): Promise<void> {
    if (current) {
      say(`${first}${more.length > 0 ? ` and ${more.length} more` : ''} changed, starting anew`);
      await current.stop();
    }
    if (signal.aborted) return;
    // What the steps wrote, and what else changed meanwhile, is read by the start; what is still to be prepared is not.
    changes.forget((path) => stepsFor([path]).length > 0);
    current = start();
  }

  function start() {
    const child = spawnAlone(command);
    const ended = exitOf(child);
    let stopping = false;
    void (async () => {
      const code = await ended;
      if (!stopping && !signal.aborted) say(`the mesh has ended (${code}); waiting for a change`);
    })();
    return {
      runs: () => child.exitCode === null && child.signalCode === null,
      async stop(): Promise<number> {
        stopping = true;
        child.kill('SIGTERM');
        const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
        const code = await ended;
        clearTimeout(timer);
        return code === 0 ? 0 : 1;
      },
    };
  }

  async function firstFailure(steps: Step[]): Promise<Step | undefined> {
    for (const step of steps) {
      const [command, ...args] = step.command;
      const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
      if ((await exitOf(child)) !== 0) return step;
    }
    return undefined;
  }
}

/**
 * In a process group of its own, so that the terminal's Ctrl-C reaches the supervisor alone and once; with a channel whose end
 * tells the child when the supervisor is gone.
 */
function spawnAlone([command, ...args]: [string, ...string[]]): ChildProcess {
  return spawn(command, args, { detached: true, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

async function exitOf(child: ChildProcess): Promise<number | string> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  return code ?? signal ?? 'no reason given';
}
