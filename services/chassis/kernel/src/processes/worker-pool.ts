/** A thread or process that works for one caller at a time. */
export interface PooledWorker {
  readonly ended: boolean;
  end(): Promise<void>;
}

/** Lends workers, and starts a new one if no worker is idle. There are never more workers than concurrent callers. */
export function workerPool<Worker extends PooledWorker>(start: () => Worker) {
  const workers = new Set<Worker>();
  let idle: Worker[] = [];
  let isClosed = false;

  return {
    async use<T>(work: (worker: Worker) => Promise<T>): Promise<T> {
      idle = idle.filter(({ ended }) => !ended);
      const worker = idle.pop() ?? start();
      workers.add(worker);
      try {
        return await work(worker);
      } finally {
        if (isClosed) await worker.end();
        else if (worker.ended) workers.delete(worker);
        else idle.push(worker);
      }
    },
    /** Ends all workers, including those in use. A worker that is lent after `close` ends when its work is done. */
    async close(): Promise<void> {
      isClosed = true;
      const ending = [...workers];
      workers.clear();
      idle = [];
      await Promise.all(ending.map((worker) => worker.end()));
    },
  };
}
