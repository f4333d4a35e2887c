import { setTimeout as delay } from 'node:timers/promises';
import { unavailable } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/log';
import type { EachBatchPayload } from 'kafkajs';
import { within } from './kafka-client.ts';
import { type PartitionProgress, partitionProgress } from './kafka-progress.ts';
import type { TakenMessage } from './kafka-take.ts';
import { type KeyedQueue, keyedQueue, type Rest } from './keyed-queue.ts';

export interface ShareOptions {
  topic: string;
  /** How many events are handled at once. Partitions share them: as far as they go round, each can always begin one. */
  concurrency: number;
  /** Resolves when the event is done with, for good; rejects when `stopped` came first, and it is left to others. */
  take: (message: TakenMessage, stopped: AbortSignal, rest: Rest) => Promise<void>;
  log?: Logger | undefined;
}

/**
 * The partitions of one topic that a member holds, and what is under way of them. Handing over a batch waits for nothing:
 * the member goes on fetching and beating, and one slow key holds up neither other keys nor other partitions. A
 * partition with much under way is paused instead.
 */
export interface Share {
  readonly topic: string;
  /** The group has given out the partitions anew: what had not begun comes again, here or elsewhere. */
  assign(partitions: number[]): void;
  /** The partitions are about to be given out anew, or the member stops: nothing more begins. */
  revoke(): void;
  deliver(payload: Pick<EachBatchPayload, 'batch' | 'pause' | 'commitOffsetsIfNecessary'>): void;
  /** Revokes, waits for what is being handled, and at most so long for it to be committed. */
  settle(commitMs: number): Promise<void>;
  lag(): number;
  /** Commits what is done and could not be committed when it was. */
  commitAgain(): void;
  /** For how long, in ms, nothing has come, begun, ended or been committed although something should; else 0. */
  stuckForMs(): number;
}

/** Between two rebalances. */
interface Tenure {
  revoked: AbortController;
  partitions: Map<number, Held>;
  commit?: EachBatchPayload['commitOffsetsIfNecessary'];
  committing: Promise<void> | undefined;
}

interface Held {
  progress: PartitionProgress;
  /** There while it is paused. */
  resume?: (() => void) | undefined;
}

/** Before a message is taken again whose handling has ended neither well nor in a dead letter. */
const againMs = 1_000;

/** So many under way in one partition pause it; half of them let it go on. */
const pauseAbove = 1_000;

export function createShare({ topic, concurrency, take, log }: ShareOptions): Share {
  // Outlives rebalances: an event that comes again waits behind its own first handling.
  const queue: KeyedQueue = keyedQueue(concurrency);
  const underWay = new Set<Promise<unknown>>();
  let begun = 0;
  let movedAt = performance.now();
  let tenure = newTenure();

  function moved(): void {
    movedAt = performance.now();
  }

  function revoke(): void {
    tenure.revoked.abort();
    queue.refuseWaiting(unavailable(`The partitions of ${topic} are given out anew`));
  }

  function start(mine: Tenure, partition: number, held: Held, message: EachBatchPayload['batch']['messages'][0]): void {
    const { progress } = held;
    const { offset } = message;
    progress.begin(offset);
    // Without a key nothing is in order with it.
    const key = `${partition}:${message.key?.toString() ?? `at ${offset}`}`;
    const work = async (rest: Rest) => {
      begun++;
      moved();
      try {
        await takeForGood({ topic, partition, message }, mine.revoked.signal, rest);
      } finally {
        begun--;
        moved();
      }
      progress.finish(offset);
      goOn(held);
      void commit(mine);
    };
    const taken = queue
      .run(key, work, { part: String(partition), line: mine })
      // What a tenure leaves behind comes again: to whoever has the partition then, where it runs whatever became of it here.
      .catch(() => undefined)
      .finally(() => underWay.delete(taken));
    underWay.add(taken);
  }

  /** Rejects only when it is revoked: within a tenure nothing else would bring the message again, and its key waits. */
  async function takeForGood(message: TakenMessage, revoked: AbortSignal, rest: Rest): Promise<void> {
    for (;;) {
      try {
        return await take(message, revoked, rest);
      } catch (error) {
        if (revoked.aborted) throw error;
        log?.error({ err: error, topic, partition: message.partition }, 'an event was not taken, and is taken again');
      }
      await rest(
        delay(againMs, undefined, { signal: revoked }).catch(() => undefined),
        revoked,
      );
    }
  }

  function goOn(held: Held): void {
    if (held.progress.unfinished >= pauseAbove / 2) return;
    held.resume?.();
    held.resume = undefined;
  }

  /** Commits what is due until nothing is. One request at a time; what finishes meanwhile goes with the next. */
  function commit(mine: Tenure): Promise<void> {
    mine.committing ??= commitDue(mine);
    return mine.committing;
  }

  async function commitDue(mine: Tenure): Promise<void> {
    const isMine = () => tenure === mine;
    await Promise.resolve(); // what finishes in the same tick goes together
    try {
      // After a rebalance the partitions may be another's, who may have come further.
      for (let due = dueOf(mine); due.length > 0 && isMine(); due = dueOf(mine)) {
        const partitions = due.map(({ partition, offset }) => ({ partition, offset }));
        await mine.commit?.({ topics: [{ topic, partitions }] });
        for (const { offset, progress } of due) progress.committed(offset);
        moved();
      }
    } catch (error) {
      // The next event to be done tries again, or the watch; what is never committed comes again.
      log?.debug({ err: error, topic }, 'offsets were not committed');
    } finally {
      mine.committing = undefined;
    }
  }

  return {
    topic,
    revoke,
    assign(partitions) {
      revoke();
      tenure = newTenure();
      queue.reserve(partitions.map(String));
      moved();
    },
    deliver({ batch, pause, commitOffsetsIfNecessary }) {
      const mine = tenure;
      moved();
      if (mine.revoked.signal.aborted) return void pause(); // lifted when it is assigned again
      const held = mine.partitions.get(batch.partition) ?? { progress: partitionProgress() };
      mine.partitions.set(batch.partition, held);
      mine.commit = commitOffsetsIfNecessary;
      held.progress.endsAt(batch.highWatermark);
      for (const message of batch.messages) start(mine, batch.partition, held, message);
      if (held.progress.unfinished > pauseAbove) held.resume ??= pause();
    },
    async settle(commitMs) {
      revoke();
      await Promise.all(underWay);
      await within(commitMs, 'Committing', commit(tenure)).catch(() => undefined); // uncommitted, it comes again
    },
    lag: () => lagOf(tenure),
    commitAgain: () => void commit(tenure),
    stuckForMs() {
      const waits = lagOf(tenure) > 0 || dueOf(tenure).length > 0;
      return waits && begun === 0 ? performance.now() - movedAt : 0;
    },
  };
}

function lagOf({ partitions }: Tenure): number {
  return [...partitions.values()].reduce((sum, { progress }) => sum + progress.lag(), 0);
}

function dueOf({ partitions }: Tenure) {
  return [...partitions].flatMap(([partition, { progress }]) => {
    const offset = progress.due();
    return offset === undefined ? [] : [{ partition, offset, progress }];
  });
}

function newTenure(): Tenure {
  return { revoked: new AbortController(), partitions: new Map(), committing: undefined };
}
