import { type ChildProcess, fork } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { processorMs } from './processor-time.ts';
import { residentMb } from './resident-memory.ts';

export interface TaskProcessOptions {
  /** The module of the process. It sends `ready` once, then one answer to each message. */
  module: URL;
  /** Follows the words "the process" in error messages, e.g. `that renders templates`. */
  purpose: string;
  /** Arguments for Node. The process inherits none of the service's own arguments, such as loaders or an inspector. */
  execArgv: string[];
  /** `advanced` for tasks or answers with bytes. Default `json`. */
  serialization?: 'json' | 'advanced' | undefined;
  /** The process is killed if it has not started after this time in ms. Default 60,000. */
  startTimeoutMs?: number | undefined;
  /**
   * Added to the service's nice value, so that long tasks yield to requests. If it is above 0, set `maxProcessorMs` for the tasks, too.
   * Default 0.
   */
  niceness?: number | undefined;
}

export interface PerformOptions {
  /** The process is killed when the task takes longer than this, not counting the start of the process. */
  timeoutMs: number;
  /** Maximum processor time of a task in ms, on Linux; time spent waiting for a CPU does not count. Default: unlimited. */
  maxProcessorMs?: number | undefined;
  onTimeout: () => Error;
  /**
   * Maximum resident memory in MB, on Linux; a process that exceeds it is killed. On other systems only a heap limit applies. Default:
   * unlimited.
   */
  maxMemory?: { mb: number; onExceeded: () => Error } | undefined;
  /** When the signal aborts, the process is killed and the task rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

const watchIntervalMs = 50;

/** The process ended during a task, on its own or by an external signal. */
export class TaskProcessDied extends Error {
  override name = 'TaskProcessDied';
  /** How the process ended, e.g. `SIGABRT` (when its heap was full) or `exit code 1`. */
  readonly how: string;

  constructor(purpose: string, how: string) {
    super(`The process ${purpose} was ended by ${how}`);
    this.how = how;
  }
}

/** The process failed before a task began, so no task is to blame. */
export class TaskProcessNotStarted extends Error {
  override name = 'TaskProcessNotStarted';

  constructor(purpose: string, how: string, cause?: unknown) {
    super(`The process ${purpose} did not start${how}`, { cause });
  }
}

/**
 * Performs tasks one at a time in a process that can be killed. The process gets none of the service's environment, which holds secrets. A
 * thread would not be enough: one allocation beyond the thread's heap limit would abort the whole process.
 */
export function startTaskProcess<Task extends object, Answer extends object>(options: TaskProcessOptions) {
  const { module, purpose, execArgv, serialization = 'json', startTimeoutMs = 60_000, niceness = 0 } = options;
  const { NODE_COMPILE_CACHE } = process.env;
  const child = fork(fileURLToPath(module), [], {
    execArgv,
    serialization,
    env: { ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'], // V8 writes pages of output when a heap is full
  });
  if (niceness > 0) makeNicer(child.pid, niceness);
  const ready = Promise.withResolvers<void>();
  const exited = Promise.withResolvers<void>();
  ready.promise.catch(() => undefined); // `perform` reports that the process takes no task
  let waiting: PromiseWithResolvers<Answer> | undefined;
  let isBusy = false;
  let ended = false;
  let ending: Error | undefined;

  const kill = (why: Error): void => {
    ending ??= why;
    child.kill('SIGKILL');
  };
  const onEnd = (how: string, cause?: unknown): void => {
    ended = true;
    clearTimeout(starting);
    ready.reject(ending ?? new TaskProcessNotStarted(purpose, `: ${how}`, cause));
    waiting?.reject(ending ?? new TaskProcessDied(purpose, how));
    exited.resolve();
  };
  const used = () => processorMs(child.pid ?? 0) ?? 0;
  const watchProcessorTime = (maxMs: number, onExceeded: () => void): NodeJS.Timeout => {
    const before = used();
    return setInterval(() => used() - before > maxMs && onExceeded(), watchIntervalMs);
  };
  child.on('message', (message: Answer | 'ready') => {
    if (message === 'ready') {
      clearTimeout(starting);
      if (niceness > 0) makeNicer(child.pid, niceness); // the first call may have missed threads that started meanwhile
      ready.resolve();
    } else waiting?.resolve(message);
  });
  child.on('error', (error) => {
    if (child.pid === undefined) onEnd(error.message, error);
    else kill(error); // the process cannot be used without its channel
  });
  child.on('exit', (code, signal) => onEnd(signal ?? `exit code ${code}`));
  const onStartTimeout = () => kill(new TaskProcessNotStarted(purpose, ` within ${startTimeoutMs} ms`));
  const starting = setTimeout(onStartTimeout, startTimeoutMs).unref();
  setRef(child, false);

  return {
    pid: child.pid,
    get ended() {
      return ended || ending !== undefined;
    },
    /** Kills the process at once; the running task rejects with `why`. */
    kill,
    /**
     * Performs a task.
     * @throws TaskProcessNotStarted if the process fails before the task begins
     * @throws TaskProcessDied if the process ends during the task, on its own or by an external signal
     * @throws the error of `onTimeout`, `maxMemory` or `kill` if one of these kills the process
     * @throws the signal's reason if the signal aborts
     * @throws Error if the process has ended or performs another task
     */
    async perform(
      task: Task,
      { timeoutMs, maxProcessorMs, onTimeout, maxMemory, signal }: PerformOptions,
    ): Promise<Answer> {
      signal?.throwIfAborted();
      if (this.ended || isBusy) throw new Error(`The process ${purpose} takes no task now`);
      isBusy = true;
      setRef(child, true);
      let timer: NodeJS.Timeout | undefined;
      let watch: NodeJS.Timeout | undefined;
      const stop = () => kill(signal?.reason);
      signal?.addEventListener('abort', stop, { once: true });
      const memoryWatch =
        maxMemory &&
        setInterval(() => {
          if ((residentMb(child.pid) ?? 0) > maxMemory.mb) kill(maxMemory.onExceeded());
        }, watchIntervalMs);
      try {
        await ready.promise; // the start of the process does not count against the task
        waiting = Promise.withResolvers();
        timer = setTimeout(() => kill(onTimeout()), timeoutMs);
        if (maxProcessorMs !== undefined) watch = watchProcessorTime(maxProcessorMs, () => kill(onTimeout()));
        child.send(task);
        return await waiting.promise;
      } finally {
        clearTimeout(timer);
        clearInterval(watch);
        clearInterval(memoryWatch);
        signal?.removeEventListener('abort', stop);
        waiting = undefined;
        isBusy = false;
        if (!ending) setRef(child, false);
      }
    },
    async end(): Promise<void> {
      if (ended) return;
      setRef(child, true);
      kill(new Error(`The process ${purpose} has been ended`));
      await exited.promise;
    },
  };
}

/** Only a running task keeps the service's process alive. */
function setRef(child: ChildProcess, isRef: boolean): void {
  const how = isRef ? 'ref' : 'unref';
  child[how]();
  child.channel?.[how]();
}

const nicest = 19;

/** Sets the nice value of all current threads; later threads inherit it. */
function makeNicer(pid: number | undefined, by: number): void {
  if (pid === undefined) return;
  try {
    const threads = process.platform === 'linux' ? readdirSync(`/proc/${pid}/task`).map(Number) : [pid];
    for (const thread of threads) setPriority(thread, Math.min(nicest, getPriority() + by));
  } catch {
    // The process has already ended, or the system does not allow the new nice value.
  }
}
