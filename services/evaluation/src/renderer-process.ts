import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A template to fill. */
export interface Rendering {
  template: string;
  /** Plain data: it is sent as JSON. */
  scope: Record<string, unknown>;
  /** How long parsing and filling may take together, in ms. */
  withinMs: number;
  /** A longer text is of no use: only its length is told. */
  mostCharacters: number;
}

/** The text, or how long it would be; and how long it took, in ms. */
export type Rendered = { tookMs: number } & ({ text: string } | { characters: number });

export type RendererAnswer = Rendered | { problem: string };

/** The template's own fault. The message is a word or two that quote nothing of it, such as `too slow` or `ParseError`. */
export class TemplateProblem extends Error {
  override name = 'TemplateProblem';
}

export interface RendererLimits {
  /** What the process may have in its heap, in MB. */
  heapMb: number;
  /** When a process that does not end a rendering in its time is killed, in ms after that time. */
  patienceMs: number;
  /** How long it may take to start, in ms; then it is killed. Default 60 s. */
  startWithinMs?: number;
}

/**
 * A process that renders templates, without any of the service's environment. A thread would not do: a single allocation beyond a
 * thread's heap limit (two long strings that are compared) aborts the process with all of its threads. Its priority is that of any
 * process, since the time it has is that of the clock.
 */
export interface RendererProcess {
  /** One at a time. @throws TemplateProblem; another Error where the process did not start, or was ended by its owner. */
  render(task: Rendering): Promise<Rendered>;
  readonly ended: boolean;
  /** Undefined where the system could not start it. */
  readonly pid: number | undefined;
  end(): Promise<void>;
}

export function startRendererProcess({ heapMb, patienceMs, startWithinMs = 60_000 }: RendererLimits): RendererProcess {
  const { NODE_COMPILE_CACHE } = process.env;
  const child = fork(fileURLToPath(new URL('./renderer-main.ts', import.meta.url)), [], {
    // What the service was started with (a test runner's loaders, an inspector) does not concern it.
    execArgv: [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=8'],
    env: { ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'], // V8 writes pages about a heap that is full
  });
  const ready = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  ready.promise.catch(() => undefined); // told to whoever asks next
  let waiting: PromiseWithResolvers<Rendered> | undefined;
  let isBusy = false;
  let ended = false;
  let ending: Error | undefined;

  // Only somebody who waits keeps the service's process.
  const keep = (is: boolean): void => {
    if (is) {
      child.ref();
      child.channel?.ref();
    } else {
      child.unref();
      child.channel?.unref();
    }
  };
  const kill = (why: Error): void => {
    ending ??= why;
    child.kill('SIGKILL');
  };
  const onEnd = (how: string, cause?: unknown): void => {
    ended = true;
    clearTimeout(starting);
    ready.reject(ending ?? new Error(`The process that renders templates did not start: ${how}`, { cause }));
    waiting?.reject(ending ?? new TemplateProblem(how === 'SIGABRT' ? 'too much memory' : `ended by ${how}`));
    gone.resolve();
  };
  child.on('message', (message: RendererAnswer | 'ready') => {
    if (message === 'ready') {
      clearTimeout(starting);
      ready.resolve();
    } else if ('problem' in message) waiting?.reject(new TemplateProblem(message.problem));
    else waiting?.resolve(message);
  });
  child.on('error', (error) => {
    if (child.pid === undefined) onEnd(error.message, error);
    else kill(error); // a channel that fails is of no more use
  });
  child.on('exit', (code, signal) => onEnd(signal ?? `exit code ${code}`));
  const tooLate = () => kill(new Error(`The process that renders templates did not start within ${startWithinMs} ms`));
  const starting = setTimeout(tooLate, startWithinMs).unref();
  keep(false);

  return {
    pid: child.pid,
    get ended() {
      return ended || ending !== undefined;
    },
    async render(task) {
      if (this.ended || isBusy) throw new Error('This process takes no template now');
      isBusy = true;
      keep(true);
      let timer: NodeJS.Timeout | undefined;
      try {
        await ready.promise; // starting is not the template's time
        waiting = Promise.withResolvers();
        timer = setTimeout(() => kill(new TemplateProblem('too slow')), task.withinMs + patienceMs);
        child.send(task);
        return await waiting.promise;
      } finally {
        clearTimeout(timer);
        waiting = undefined;
        isBusy = false;
        if (!ending) keep(false);
      }
    },
    async end() {
      if (ended) return;
      keep(true);
      kill(new Error('The process that renders templates has been ended'));
      await gone.promise;
    },
  };
}
