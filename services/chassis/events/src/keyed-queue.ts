/**
 * Releases the task's slot, waits until `until` settles, and then waits for a free slot. If `stopSignal` aborts, does not wait for a slot.
 * No code of the task may run during the pause.
 */
export type Pause = (until: Promise<unknown>, stopSignal: AbortSignal) => Promise<void>;

/** How a task is scheduled, in addition to its key. */
export interface TaskOptions {
  /** The partition of the task. Partitions share the slots evenly. Default: all tasks are in one partition. */
  partition?: string;
  /**
   * When a task fails, the later tasks of the same key and batch fail too; tasks of other batches do not. Default: all tasks are in one
   * batch.
   */
  batch?: unknown;
}

export type KeyedQueue = ReturnType<typeof keyedQueue>;

type Task = (pause: Pause) => Promise<void>;

interface Waiting {
  task: Task;
  batch: unknown;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** The tasks of one key that wait behind the running task of the key. */
interface KeyQueue {
  partition: Partition;
  waiting: Waiting[];
}

interface Partition {
  running: number;
  /** Keys that have waiting tasks and no running task, the longest waiting key first. */
  ready: Set<string>;
  /** Tasks whose pause has ended and that wait for a slot. */
  resuming: Set<() => void>;
  isReserved: boolean;
}

/**
 * Runs tasks: tasks of one key in order, one at a time; tasks of different keys concurrently, up to a limit. With the limit 0 no task runs.
 */
export function keyedQueue(limit: number) {
  /** The queues by key. A key is present from the start of its first task to the end of its last task. */
  const keyQueues = new Map<string, KeyQueue>();
  /** The partitions, ordered by the time at which each last got a slot, oldest first. */
  const partitions = new Map<string, Partition>();
  let running = 0;

  function partitionOf(name: string): Partition {
    const partition = partitions.get(name) ?? { running: 0, ready: new Set(), resuming: new Set(), isReserved: false };
    partitions.set(name, partition);
    return partition;
  }

  function count(partition: Partition, by: 1 | -1): void {
    partition.running += by;
    running += by;
  }

  function pauseOf(partition: Partition): Pause {
    return async (until, stopSignal) => {
      count(partition, -1);
      fillSlots();
      try {
        await until;
      } finally {
        await new Promise<void>((resolve) => {
          const resume = () => {
            stopSignal.removeEventListener('abort', resume);
            partition.resuming.delete(resume);
            count(partition, 1);
            resolve();
          };
          if (stopSignal.aborted) return resume();
          stopSignal.addEventListener('abort', resume);
          partition.resuming.add(resume);
          fillSlots();
        });
      }
    };
  }

  async function runFirst(key: string, first: Waiting, queue: KeyQueue): Promise<void> {
    try {
      await first.task(pauseOf(queue.partition));
      first.resolve();
    } catch (error) {
      first.reject(error);
      const behind = queue.waiting.splice(0);
      for (const waiting of behind) {
        if (waiting.batch === first.batch) waiting.reject(error);
        else queue.waiting.push(waiting);
      }
    }
    count(queue.partition, -1);
    if (queue.waiting.length > 0) queue.partition.ready.add(key);
    else keyQueues.delete(key);
    fillSlots();
  }

  /** Returns the partition that gets the next slot: among those with work, the one with the fewest running tasks. */
  function nextPartition(): [name: string, partition: Partition] | undefined {
    if (running >= limit) return undefined;
    let chosen: [string, Partition] | undefined;
    let reservedSlots = 0;
    for (const entry of partitions) {
      const [, { ready, resuming, isReserved, running: ofPartition }] = entry;
      const hasWork = ready.size + resuming.size > 0;
      if (hasWork && (chosen === undefined || ofPartition < chosen[1].running)) chosen = entry;
      if (!hasWork && isReserved && ofPartition === 0) reservedSlots++;
    }
    // A partition's first task takes the slot reserved for it; further tasks leave the reserved slots of other partitions free.
    if (chosen && chosen[1].running > 0 && limit - running <= reservedSlots) return undefined;
    return chosen;
  }

  function fillSlots(): void {
    for (let next = nextPartition(); next; next = nextPartition()) {
      const [name, partition] = next;
      partitions.delete(name);
      partitions.set(name, partition);
      const [resume] = partition.resuming;
      if (resume) resume();
      else begin(partition);
    }
  }

  function begin(partition: Partition): void {
    for (const key of partition.ready) {
      partition.ready.delete(key);
      const queue = keyQueues.get(key);
      const first = queue?.waiting.shift();
      if (!queue || !first) continue;
      count(partition, 1);
      void runFirst(key, first, queue);
      return;
    }
  }

  return {
    /**
     * Runs a task and settles as the task does. When a task rejects, the tasks of the same key and batch behind it reject too and do not
     * run, because the failed task is delivered again and must come before them. Tasks of other batches still run.
     */
    run(key: string, task: Task, { partition: name = '', batch }: TaskOptions = {}): Promise<void> {
      return new Promise((resolve, reject) => {
        const waiting = { task, batch, resolve, reject };
        const queue = keyQueues.get(key);
        if (queue) return void queue.waiting.push(waiting);
        const partition = partitionOf(name);
        keyQueues.set(key, { partition, waiting: [waiting] });
        partition.ready.add(key);
        fillSlots();
      });
    },
    /** Changes the maximum number of tasks that run at once. */
    resize(newLimit: number): void {
      limit = newLimit;
      fillSlots();
    },
    /** Reserves one slot for each of the named partitions and for no others, as far as the limit allows. */
    reserve(names: string[]): void {
      for (const partition of partitions.values()) partition.isReserved = false;
      for (const name of names) partitionOf(name).isReserved = true;
      fillSlots();
    },
    /** Rejects all tasks that have not begun. */
    rejectWaiting(error: Error): void {
      for (const [key, { partition, waiting }] of keyQueues) {
        for (const { reject } of waiting.splice(0)) reject(error);
        if (partition.ready.delete(key)) keyQueues.delete(key);
      }
    },
  };
}
