import { Worker } from 'node:worker_threads';

export interface TaskThreadOptions {
  /** The module of the thread, which must call `answerTasks`. */
  module: URL;
  /** The thread's name in debuggers and thread lists. */
  name: string;
  /** Follows the words "the thread" in error messages, e.g. `that hashes passwords`. */
  purpose: string;
}

export type TaskResult<Answer> = { value: Answer } | { error: string };

/** The thread has ended, during a task or before it. */
export class TaskThreadEnded extends Error {
  override name = 'TaskThreadEnded';
}

/**
 * Performs CPU-bound tasks off the event loop, one at a time. Node's own thread pool is not used: four tasks would fill it, and would block
 * file access, DNS lookups and signatures.
 */
export function startTaskThread<Task, Answer>({ module, name, purpose }: TaskThreadOptions) {
  // The thread does not inherit the options of the process, such as a test runner's loaders or the inspector.
  const worker = new Worker(module, { name, execArgv: [] });
  worker.unref(); // only a pending task keeps the process alive
  let pending: PromiseWithResolvers<Answer> | undefined;
  let ended = false;
  let cause: unknown;

  worker.on('message', (result: TaskResult<Answer>) => {
    worker.unref();
    if ('value' in result) pending?.resolve(result.value);
    else pending?.reject(new Error(result.error));
    pending = undefined;
  });
  worker.on('error', (error) => {
    cause = error;
  });
  worker.on('exit', () => {
    ended = true;
    pending?.reject(new TaskThreadEnded(`The thread ${purpose} has ended`, { cause }));
    pending = undefined;
  });

  return {
    get ended() {
      return ended;
    },
    /**
     * Performs a task.
     * @throws TaskThreadEnded if the thread ends before it answers
     * @throws Error with the message of the task's error if the task fails
     * @throws Error if the thread has already ended or performs another task
     */
    run(task: Task): Promise<Answer> {
      if (ended || pending) return Promise.reject(new Error(`The thread ${purpose} takes no task now`));
      worker.postMessage(task);
      worker.ref();
      pending = Promise.withResolvers();
      return pending.promise;
    },
    async end(): Promise<void> {
      await worker.terminate();
    },
  };
}
