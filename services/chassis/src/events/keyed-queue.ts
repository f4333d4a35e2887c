/** Runs tasks: those of one key in order, one at a time; those of different keys side by side, up to a limit. */
export interface KeyedQueue {
  /**
   * Settles as the task does. When a task rejects, those behind it on its key reject likewise without being run: to run
   * them would put them before the failed one, which comes again.
   */
  run(key: string, task: () => Promise<void>): Promise<void>;
  /** How many tasks may run at once. 0 holds all back. */
  resize(limit: number): void;
  /** Rejects all tasks that have not begun. */
  refuseWaiting(error: Error): void;
}

interface Waiting {
  task: () => Promise<void>;
  resolve: () => void;
  reject: (error: unknown) => void;
}

export function keyedQueue(limit: number): KeyedQueue {
  /** The tasks that wait behind a key's first one. A key is here from its first task to the end of its last. */
  const lanes = new Map<string, Waiting[]>();
  /** Keys with tasks and none running, the longest waiting first. */
  const ready = new Set<string>();
  let running = 0;

  async function runFirst(key: string, first: Waiting, lane: Waiting[]): Promise<void> {
    try {
      await first.task();
      first.resolve();
    } catch (error) {
      first.reject(error);
      for (const behind of lane.splice(0)) behind.reject(error);
    }
    running--;
    if (lane.length > 0) ready.add(key);
    else lanes.delete(key);
    fill();
  }

  function fill(): void {
    for (const key of ready) {
      if (running >= limit) return;
      ready.delete(key);
      const lane = lanes.get(key);
      const first = lane?.shift();
      if (!lane || !first) continue;
      running++;
      void runFirst(key, first, lane);
    }
  }

  return {
    run(key, task) {
      return new Promise((resolve, reject) => {
        const lane = lanes.get(key);
        if (lane) {
          lane.push({ task, resolve, reject });
        } else {
          lanes.set(key, [{ task, resolve, reject }]);
          ready.add(key);
          fill();
        }
      });
    },
    resize(newLimit) {
      limit = newLimit;
      fill();
    },
    refuseWaiting(error) {
      for (const [key, lane] of lanes) {
        for (const waiting of lane.splice(0)) waiting.reject(error);
        if (ready.delete(key)) lanes.delete(key);
      }
    },
  };
}
