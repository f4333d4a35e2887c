/**
 * Waits for something without taking up room, and comes back when there is room again; when `stopped` aborts, at once.
 * For pauses: nothing of the task may be running meanwhile.
 */
export type Rest = (until: Promise<unknown>, stopped: AbortSignal) => Promise<void>;

/** Where a task belongs. */
export interface TaskPlace {
  /** What shares the room evenly with others, as a partition does. Default: one for all. */
  part?: string;
  /** Tasks that were handed over together: a failure of one concerns no other's. Default: one for all. */
  line?: unknown;
}

/** Runs tasks: those of one key in order, one at a time; those of different keys side by side, up to a limit. */
export interface KeyedQueue {
  /**
   * Settles as the task does. When a task rejects, those of its line behind it on its key reject likewise without being
   * run: to run them would put them before the failed one, which comes again. Tasks of other lines run all the same.
   */
  run(key: string, task: (rest: Rest) => Promise<void>, place?: TaskPlace): Promise<void>;
  /** How many tasks may run at once. 0 holds all back. */
  resize(limit: number): void;
  /** The parts that tasks may come of at any time: as far as the limit allows, room is kept for one of each. */
  reserve(parts: string[]): void;
  /** Rejects all tasks that have not begun. */
  refuseWaiting(error: Error): void;
}

interface Waiting {
  task: (rest: Rest) => Promise<void>;
  line: unknown;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** The tasks that wait behind a key's first one. */
interface Lane {
  part: Part;
  waiting: Waiting[];
}

interface Part {
  running: number;
  /** Keys with tasks and none begun, the longest waiting first. */
  ready: Set<string>;
  /** Begun tasks whose rest is over. */
  returning: Set<() => void>;
  isReserved: boolean;
}

export function keyedQueue(limit: number): KeyedQueue {
  /** A key is here from its first task to the end of its last. */
  const lanes = new Map<string, Lane>();
  /** The one that began something longest ago comes first. */
  const parts = new Map<string, Part>();
  let running = 0;

  function partOf(name: string): Part {
    const part = parts.get(name) ?? { running: 0, ready: new Set(), returning: new Set(), isReserved: false };
    parts.set(name, part);
    return part;
  }

  function enter(part: Part): void {
    part.running++;
    running++;
  }

  function leave(part: Part): void {
    part.running--;
    running--;
  }

  function restOf(part: Part): Rest {
    return async (until, stopped) => {
      leave(part);
      fill();
      try {
        await until;
      } finally {
        await new Promise<void>((resolve) => {
          const comeBack = () => {
            stopped.removeEventListener('abort', comeBack);
            part.returning.delete(comeBack);
            enter(part);
            resolve();
          };
          if (stopped.aborted) return comeBack();
          stopped.addEventListener('abort', comeBack);
          part.returning.add(comeBack);
          fill();
        });
      }
    };
  }

  async function runFirst(key: string, first: Waiting, lane: Lane): Promise<void> {
    try {
      await first.task(restOf(lane.part));
      first.resolve();
    } catch (error) {
      first.reject(error);
      const behind = lane.waiting.splice(0);
      for (const waiting of behind) {
        if (waiting.line === first.line) waiting.reject(error);
        else lane.waiting.push(waiting);
      }
    }
    leave(lane.part);
    if (lane.waiting.length > 0) lane.part.ready.add(key);
    else lanes.delete(key);
    fill();
  }

  /** The part whose turn it is: of those that want to begin something the one with the fewest running. */
  function next(): [name: string, part: Part] | undefined {
    if (running >= limit) return undefined;
    let chosen: [string, Part] | undefined;
    let keptFree = 0;
    for (const entry of parts) {
      const [, { ready, returning, isReserved, running: ofPart }] = entry;
      const isWanting = ready.size + returning.size > 0;
      if (isWanting && (chosen === undefined || ofPart < chosen[1].running)) chosen = entry;
      if (!isWanting && isReserved && ofPart === 0) keptFree++;
    }
    // Its first one takes what is kept for it; a further one leaves the others theirs.
    if (chosen && chosen[1].running > 0 && limit - running <= keptFree) return undefined;
    return chosen;
  }

  function fill(): void {
    for (let turn = next(); turn; turn = next()) {
      const [name, part] = turn;
      parts.delete(name);
      parts.set(name, part);
      const [comeBack] = part.returning;
      if (comeBack) comeBack();
      else begin(part);
    }
  }

  function begin(part: Part): void {
    for (const key of part.ready) {
      part.ready.delete(key);
      const lane = lanes.get(key);
      const first = lane?.waiting.shift();
      if (!lane || !first) continue;
      enter(part);
      void runFirst(key, first, lane);
      return;
    }
  }

  return {
    run(key, task, { part: name = '', line } = {}) {
      return new Promise((resolve, reject) => {
        const waiting = { task, line, resolve, reject };
        const lane = lanes.get(key);
        if (lane) return void lane.waiting.push(waiting);
        const part = partOf(name);
        lanes.set(key, { part, waiting: [waiting] });
        part.ready.add(key);
        fill();
      });
    },
    resize(newLimit) {
      limit = newLimit;
      fill();
    },
    reserve(names) {
      for (const part of parts.values()) part.isReserved = false;
      for (const name of names) partOf(name).isReserved = true;
      fill();
    },
    refuseWaiting(error) {
      for (const [key, { part, waiting }] of lanes) {
        for (const { reject } of waiting.splice(0)) reject(error);
        if (part.ready.delete(key)) lanes.delete(key);
      }
    },
  };
}
