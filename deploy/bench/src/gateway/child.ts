import { fork } from 'node:child_process';
import { once } from 'node:events';

/** A process of the bench's own. */
export interface Child<Hello> {
  /** What it said once it was up. */
  hello: Hello;
  /** What all its threads have used so far. */
  cpuMs(): Promise<number>;
  /** What is resident, after a collection. */
  memoryKb(): Promise<number>;
  /** Tells it to send so many events to each reader. */
  emit(events: number): void;
  /** Hears what it says by itself from now on. */
  onMessage(listener: (message: unknown) => void): void;
  stop(): Promise<void>;
}

export type Order = { order: 'cpuMs' | 'memoryKb' } | { order: 'emit'; events: number } | { order: 'stop' };

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
  const ask = async (order: 'cpuMs' | 'memoryKb') => {
    const answer = once(child, 'message');
    tell({ order });
    const [value] = (await answer) as [number];
    return value;
  };
  return {
    hello,
    cpuMs: () => ask('cpuMs'),
    memoryKb: () => ask('memoryKb'),
    emit: (events) => tell({ order: 'emit', events }),
    onMessage: (listener) => void child.on('message', listener),
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
    else if (order.order === 'cpuMs') process.send?.(cpuMs());
    else if (order.order === 'memoryKb') process.send?.(memoryKb());
    else void stop().finally(() => process.exit(0));
  });
  process.once('disconnect', () => process.exit(1)); // whoever started it is gone
  process.send?.(hello);
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function memoryKb(): number {
  globalThis.gc?.();
  return process.memoryUsage.rss() / 1_024;
}
