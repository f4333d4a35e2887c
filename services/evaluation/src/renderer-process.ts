import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface Rendering {
  template: string;
  scope: Record<string, unknown>;
  timeoutMs: number;
  /** Of a longer text only the length is returned. */
  maxCharacters: number;
}

export type Rendered = { tookMs: number } & ({ text: string } | { characters: number });

export type RendererResponse = Rendered | { problem: string };

/** An error of the template. The message quotes nothing of it: `too slow`, `ParseError`. */
export class TemplateError extends Error {
  override name = 'TemplateError';
}

export interface RendererLimits {
  heapMb: number;
  /** A process that exceeds a rendering's timeout by so much is killed. */
  killAfterMs: number;
  /** The process is killed if it has not started by then. Default 60,000. */
  startTimeoutMs?: number;
}

export type RendererProcess = ReturnType<typeof startRendererProcess>;

/** Without the service's environment. Not a thread: one allocation beyond its heap limit would abort the whole process. */
export function startRendererProcess({ heapMb, killAfterMs, startTimeoutMs = 60_000 }: RendererLimits) {
  const { NODE_COMPILE_CACHE } = process.env;
  const child = fork(fileURLToPath(new URL('./renderer-main.ts', import.meta.url)), [], {
    // Not the service's own arguments, such as loaders or an inspector. Its priority is normal: timeouts are wall-clock time.
    execArgv: [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=8'],
    env: { ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'], // V8 logs pages when a heap is full
  });
  const ready = Promise.withResolvers<void>();
  const exited = Promise.withResolvers<void>();
  ready.promise.catch(() => undefined); // reported by the next `render`
  let waiting: PromiseWithResolvers<Rendered> | undefined;
  let isBusy = false;
  let ended = false;
  let ending: Error | undefined;

  // Only a rendering keeps the service's process alive.
  const setRef = (isRef: boolean): void => {
    if (isRef) {
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
    waiting?.reject(ending ?? new TemplateError(how === 'SIGABRT' ? 'too much memory' : `ended by ${how}`));
    exited.resolve();
  };
  child.on('message', (message: RendererResponse | 'ready') => {
    if (message === 'ready') {
      clearTimeout(starting);
      ready.resolve();
    } else if ('problem' in message) waiting?.reject(new TemplateError(message.problem));
    else waiting?.resolve(message);
  });
  child.on('error', (error) => {
    if (child.pid === undefined) onEnd(error.message, error);
    else kill(error); // unusable without its channel
  });
  child.on('exit', (code, signal) => onEnd(signal ?? `exit code ${code}`));
  const onStartTimeout = () =>
    kill(new Error(`The process that renders templates did not start within ${startTimeoutMs} ms`));
  const starting = setTimeout(onStartTimeout, startTimeoutMs).unref();
  setRef(false);

  return {
    pid: child.pid,
    get ended() {
      return ended || ending !== undefined;
    },
    /** One at a time. @throws TemplateError; Error if the process did not start or was ended. */
    async render(task: Rendering): Promise<Rendered> {
      if (this.ended || isBusy) throw new Error('This process takes no template now');
      isBusy = true;
      setRef(true);
      let timer: NodeJS.Timeout | undefined;
      try {
        await ready.promise; // the start does not count against the template
        waiting = Promise.withResolvers();
        timer = setTimeout(() => kill(new TemplateError('too slow')), task.timeoutMs + killAfterMs);
        child.send(task);
        return await waiting.promise;
      } finally {
        clearTimeout(timer);
        waiting = undefined;
        isBusy = false;
        if (!ending) setRef(false);
      }
    },
    async end(): Promise<void> {
      if (ended) return;
      setRef(true);
      kill(new Error('The process that renders templates has been ended'));
      await exited.promise;
    },
  };
}
