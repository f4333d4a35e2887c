import { unavailable } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import { sleep, within } from '@parley/kernel/timing/timers';
import type { EachBatchPayload } from 'kafkajs';
import type { ReceivedMessage } from './kafka-handle.ts';
import { type PartitionProgress, partitionProgress } from './kafka-progress.ts';
import { type KeyedQueue, keyedQueue, type Pause } from './keyed-queue.ts';

export interface AssignmentOptions {
  topic: string;
  /** How many events are handled at once. Each partition can always begin one, if there are no more of them than this. */
  concurrency: number;
  /** Resolves when the event is handled or its dead letter stored; rejects when `stopSignal` aborted before that. */
  handle: (message: ReceivedMessage, stopSignal: AbortSignal, pause: Pause) => Promise<void>;
  log?: Logger | undefined;
}

export type Assignment = ReturnType<typeof createAssignment>;

type Delivery = Pick<EachBatchPayload, 'batch' | 'pause' | 'commitOffsetsIfNecessary'>;

/** The state between two rebalances. */
interface Generation {
  revoked: AbortController;
  revokedAt?: number;
  partitions: Map<number, HeldPartition>;
  commit?: EachBatchPayload['commitOffsetsIfNecessary'];
  committing: Promise<void> | undefined;
  /** How many partitions it has been assigned, also those without events yet. */
  assigned: number;
}

interface HeldPartition {
  progress: PartitionProgress;
  /** Set while the partition is paused. */
  resume?: (() => void) | undefined;
}

/** The pause before a message is handled again whose handling neither succeeded nor stored a dead letter. */
const retryPauseMs = 1_000;

/** A partition with more events in progress is paused, and resumes at half as many. */
const pauseAbove = 1_000;

/**
 * The partitions of one topic that a member holds, and their events in progress. Delivering a batch waits for nothing:
 * the member goes on fetching and sending heartbeats, and one slow key holds up neither other keys nor other partitions.
 * A partition with too much in progress is paused instead.
 */
export function createAssignment({ topic, concurrency, handle, log }: AssignmentOptions) {
  // Outlives rebalances: an event that is delivered again waits until its first handler has ended.
  const queue: KeyedQueue = keyedQueue(concurrency);
  const inProgress = new Set<Promise<unknown>>();
  let running = 0;
  let progressAt = performance.now();
  let current = newGeneration(0);

  function markProgress(): void {
    progressAt = performance.now();
  }

  /** A rebalance begins, or the member stops: no more events begin. */
  function revoke(): void {
    current.revokedAt ??= performance.now();
    current.revoked.abort();
    queue.rejectWaiting(unavailable(`The partitions of ${topic} are being assigned again`));
  }

  function start(
    generation: Generation,
    partition: number,
    held: HeldPartition,
    message: EachBatchPayload['batch']['messages'][0],
  ): void {
    const { progress } = held;
    const { offset } = message;
    progress.begin(offset);
    // Messages without a key have no order.
    const key = `${partition}:${message.key?.toString() ?? `at ${offset}`}`;
    const work = async (pause: Pause) => {
      running++;
      markProgress();
      try {
        await handleUntilDone({ topic, partition, message }, generation.revoked.signal, pause);
      } finally {
        running--;
        markProgress();
      }
      progress.finish(offset);
      resumePartition(held);
      void commit(generation);
    };
    const handled = queue
      .run(key, work, { partition: String(partition), batch: generation })
      // Unfinished events of a generation are delivered again to the next holder of the partition.
      .catch(() => undefined)
      .finally(() => inProgress.delete(handled));
    inProgress.add(handled);
  }

  /** Rejects only when revoked: within a generation Kafka does not deliver the message again. */
  async function handleUntilDone(message: ReceivedMessage, revokeSignal: AbortSignal, pause: Pause): Promise<void> {
    for (;;) {
      try {
        return await handle(message, revokeSignal, pause);
      } catch (error) {
        if (revokeSignal.aborted) throw error;
        log?.error({ err: error, topic, partition: message.partition }, 'event handling broke off; will retry');
      }
      await pause(sleep(retryPauseMs, revokeSignal), revokeSignal);
    }
  }

  function resumePartition(held: HeldPartition): void {
    if (held.progress.unfinished >= pauseAbove / 2) return;
    held.resume?.();
    held.resume = undefined;
  }

  /** Commits until nothing is due. One request runs at a time; events that finish during it are part of the next. */
  function commit(generation: Generation): Promise<void> {
    generation.committing ??= commitDue(generation);
    return generation.committing;
  }

  async function commitDue(generation: Generation): Promise<void> {
    const isCurrent = () => current === generation;
    await Promise.resolve(); // so that offsets finished in the same tick share a request
    try {
      // After a rebalance another member may hold the partitions and have committed higher offsets.
      for (let due = dueOf(generation); due.length > 0 && isCurrent(); due = dueOf(generation)) {
        const partitions = due.map(({ partition, offset }) => ({ partition, offset }));
        await generation.commit?.({ topics: [{ topic, partitions }] });
        for (const { offset, progress } of due) progress.committed(offset);
        markProgress();
      }
    } catch (error) {
      // The next finished event or `retryCommit` tries again; what is never committed is delivered again.
      log?.debug({ err: error, topic }, 'offset commit failed; will retry');
    } finally {
      generation.committing = undefined;
    }
  }

  return {
    topic,
    revoke,
    /** The group has assigned partitions again: events that had not begun are delivered again, here or elsewhere. */
    assign(partitions: number[]): void {
      revoke();
      current = newGeneration(partitions.length);
      queue.reserve(partitions.map(String));
      markProgress();
    },
    deliver({ batch, pause, commitOffsetsIfNecessary }: Delivery): void {
      const generation = current;
      markProgress();
      if (generation.revoked.signal.aborted) return void pause(); // resumed when it is assigned again
      const held = generation.partitions.get(batch.partition) ?? { progress: partitionProgress() };
      generation.partitions.set(batch.partition, held);
      generation.commit = commitOffsetsIfNecessary;
      held.progress.endsAt(batch.highWatermark);
      for (const message of batch.messages) start(generation, batch.partition, held, message);
      if (held.progress.unfinished > pauseAbove) held.resume ??= pause();
    },
    /** Revokes, waits for running handlers, and at most `commitMs` for the commit of what they did. */
    async drain(commitMs: number): Promise<void> {
      revoke();
      await Promise.all(inProgress);
      await within(commitMs, 'Committing', commit(current)).catch(() => undefined); // uncommitted, it is delivered again
    },
    lag: () => lagOf(current),
    /** How many partitions it holds. */
    size: () => (current.revoked.signal.aborted ? 0 : current.assigned),
    /** Commits offsets whose commit has failed. */
    retryCommit: (): void => void commit(current),
    /** How long ago, in ms, the partitions were revoked without being assigned again since; else 0. */
    revokedForMs: () => (current.revokedAt === undefined ? 0 : performance.now() - current.revokedAt),
    /** For how long, in ms, there was no progress although events wait and no handler runs; else 0. */
    noProgressForMs(): number {
      const waits = lagOf(current) > 0 || dueOf(current).length > 0;
      return waits && running === 0 ? performance.now() - progressAt : 0;
    },
  };
}

function lagOf({ partitions }: Generation): number {
  return [...partitions.values()].reduce((sum, { progress }) => sum + progress.lag(), 0);
}

function dueOf({ partitions }: Generation) {
  return [...partitions].flatMap(([partition, { progress }]) => {
    const offset = progress.due();
    return offset === undefined ? [] : [{ partition, offset, progress }];
  });
}

function newGeneration(assigned: number): Generation {
  return { revoked: new AbortController(), partitions: new Map(), committing: undefined, assigned };
}
