import { Worker } from 'node:worker_threads';

export type HashTask = { password: string } | { password: string; hash: string };

export type HashResult = { value: string | boolean } | { error: string };

export type HashThread = ReturnType<typeof startHashThread>;

/** Not Node's own thread pool, which four sign-ins would fill: they would block file access, DNS lookups and signatures. */
export function startHashThread() {
  // Does not inherit the options of the process, such as a test runner's loaders or the inspector.
  const worker = new Worker(new URL('./hash-worker.ts', import.meta.url), { name: 'passwords', execArgv: [] });
  worker.unref(); // only a pending task keeps the process alive
  let pending: PromiseWithResolvers<string | boolean> | undefined;
  let ended = false;
  let cause: unknown;

  worker.on('message', (result: HashResult) => {
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
    pending?.reject(new Error('The thread that hashes passwords has ended', { cause }));
    pending = undefined;
  });

  return {
    get ended() {
      return ended;
    },
    run(task: HashTask): Promise<string | boolean> {
      if (ended || pending) return Promise.reject(new Error('This thread takes no password now'));
      pending = Promise.withResolvers();
      worker.ref();
      worker.postMessage(task);
      return pending.promise;
    },
    async end(): Promise<void> {
      await worker.terminate();
    },
  };
}
