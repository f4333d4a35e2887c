import { fork } from 'node:child_process';
import { once } from 'node:events';

/** What a process under measure has used so far. */
export interface Usage {
  /** Of all its threads, in ms. */
  cpuMs: number;
  /** Resident, after a collection. */
  memoryKb: number;
}

/** A process of the bench's own. */
export interface Child<Hello> {
  /** What it said once it was up. */
  hello: Hello;
  usage(): Promise<Usage>;
  /** Tells it to send so many events to each reader. */
  emit(events: number): void;
  stop(): Promise<void>;
}

export type Order = { order: 'usage' } | { order: 'emit'; events: number } | { order: 'stop' };

/** Starts a script of this folder, which calls `serve`. */
export async function startChild<Hello>(script: string, env: Record<string, string> = {}): Promise<Child<Hello>> {
  const child = fork(new URL(script, import.meta.url), {
    env: { ...process.env, LOG_LEVEL: 'fatal', ...env },
    execArgv: ['--expose-gc'],
  });
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'exit');
  const failed = ended.then(([code]) => {
    throw new Error(`${script} ended with ${code} before it was up`);
  });
  const [hello] = (await Promise.race([once(child, 'message'), failed])) as [Hello];
  failed.catch(() => undefined);
  const tell = (order: Order) => void child.send(order);
  return {
    hello,
    async usage() {
      const answer = once(child, 'message');
      tell({ order: 'usage' });
      const [usage] = (await answer) as [Usage];
      return usage;
    },
    emit: (events) => tell({ order: 'emit', events }),
    async stop() {
      tell({ order: 'stop' });
      await ended;
      process.off('exit', kill);
    },
  };
}

interface Served {
  /** Told to whoever started this process. */
  hello: unknown;
  emit?: (events: number) => void;
  stop: () => Promise<unknown>;
}

/** In the child: says that it is up, and does what it is told. */
export function serve({ hello, emit, stop }: Served): void {
  process.on('message', (order: Order) => {
    if (order.order === 'emit') emit?.(order.events);
    else if (order.order === 'usage') process.send?.(usageOf());
    else void stop().finally(() => process.exit(0));
  });
  process.once('disconnect', () => process.exit(1)); // whoever started it is gone
  process.send?.(hello);
}

function usageOf(): Usage {
  // Before the collection, which is no part of what is measured.
  const { user, system } = process.cpuUsage();
  globalThis.gc?.();
  return { cpuMs: (user + system) / 1_000, memoryKb: process.memoryUsage.rss() / 1_024 };
}
