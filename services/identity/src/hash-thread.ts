import { Worker } from 'node:worker_threads';

/** A password to hash, or to compare with a hash. */
export type HashTask = { password: string } | { password: string; hash: string };

/** The hash, or whether the password is the one; or why neither can be told. */
export type HashAnswer = { value: string | boolean } | { problem: string };

/**
 * A thread that hashes, with a lower priority than the others have where the system knows such a thing. Node's own pool of
 * threads is no place for it: four sign-ins would fill it, and files, names and signatures would wait behind them.
 */
export interface HashThread {
  /** One at a time. Rejects where the thread ended meanwhile; then it is of no more use. */
  run(task: HashTask): Promise<string | boolean>;
  readonly ended: boolean;
  end(): Promise<void>;
}

export function startHashThread(): HashThread {
  // What the process was started with (a test runner's loaders, an inspector) does not concern it.
  const worker = new Worker(new URL('./hash-worker.ts', import.meta.url), { name: 'passwords', execArgv: [] });
  worker.unref(); // only somebody who waits keeps the process
  let waiting: PromiseWithResolvers<string | boolean> | undefined;
  let ended = false;
  let reason: unknown;

  worker.on('message', (answer: HashAnswer) => {
    worker.unref();
    if ('value' in answer) waiting?.resolve(answer.value);
    else waiting?.reject(new Error(answer.problem));
    waiting = undefined;
  });
  worker.on('error', (error) => {
    reason = error;
  });
  worker.on('exit', () => {
    ended = true;
    waiting?.reject(new Error('The thread that hashes passwords has ended', { cause: reason }));
    waiting = undefined;
  });

  return {
    get ended() {
      return ended;
    },
    run(task) {
      if (ended || waiting) return Promise.reject(new Error('This thread takes no password now'));
      waiting = Promise.withResolvers();
      worker.ref();
      worker.postMessage(task);
      return waiting.promise;
    },
    async end() {
      await worker.terminate();
    },
  };
}
