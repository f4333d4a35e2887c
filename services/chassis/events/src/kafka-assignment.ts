import { unavailable } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import { sleep, within } from '@parley/kernel/timing/timers';
import type { EachBatchPayload } from 'kafkajs';
import type { ReceivedMessage } from './kafka-handle.ts';
import { type PartitionProgress, partitionProgress } from './kafka-progress.ts';
import { type KeyedQueue, keyedQueue, type Pause } from './keyed-queue.ts';

export interface AssignmentOptions {
  topic: string;
  /**
   * How many events are handled at once. Each partition can always begin one event, if the number of partitions does not exceed
   * `concurrency`.
   */
  concurrency: number;
  /** Resolves when the event is handled or its dead letter is stored; rejects when `stopSignal` aborts first. */
  handle: (message: ReceivedMessage, stopSignal: AbortSignal, pause: Pause) => Promise<void>;
  log?: Logger | undefined;
}

export type Assignment = ReturnType<typeof createAssignment>;

type Delivery = Pick<EachBatchPayload, 'batch' | 'pause' | 'commitOffsetsIfNecessary'>;

/** The state of an assignment between two rebalances. */
interface Generation {
  revoked: AbortController;
  revokedAt?: number;
  partitions: Map<number, HeldPartition>;
  commit?: EachBatchPayload['commitOffsetsIfNecessary'];
  committing: Promise<void> | undefined;
  /** Number of assigned partitions, including partitions without events yet. */
  assigned: number;
}

interface HeldPartition {
  progress: PartitionProgress;
  /** Resumes the partition; set while the partition is paused. */
  resume?: (() => void) | undefined;
}

/** The pause before a message is handled again, when handling it neither succeeded nor stored a dead letter. */
const retryPauseMs = 1_000;

/** A partition with more events in progress than this is paused; it resumes at half of this number. */
const pauseAbove = 1_000;

/**
 * The partitions of one topic that a member holds, and their events in progress. Delivering a batch does not wait: the member continues to
 * fetch and to send heartbeats, and one slow key delays neither other keys nor other partitions. A partition with too many events in
 * progress is paused.
 */
export function createAssignment({ topic, concurrency, handle, log }: AssignmentOptions) {
  // This queue outlives rebalances: an event that is delivered again waits until its first handler has ended.
  const queue: KeyedQueue = keyedQueue(concurrency);
  const inProgress = new Set<Promise<unknown>>();
  let running = 0;
  let progressAt = performance.now();
  let current = newGeneration(0);

  function markProgress(): void {
    progressAt = performance.now();
  }

  /** Begins no more events. Called when a rebalance begins or the member stops. */
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

  /**
   * Rejects only after the partition was revoked. Until then, failures are retried here, because Kafka would not deliver the message again.
   */
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

  /** Commits until no offset is due. One request runs at a time; offsets that finish during a request are part of the next one. */
  function commit(generation: Generation): Promise<void> {
    generation.committing ??= commitDue(generation);
    return generation.committing;
  }

  async function commitDue(generation: Generation): Promise<void> {
    const isCurrent = () => current === generation;
    await Promise.resolve(); // waits, so that offsets finished in the same tick share a request
    try {
      // After a rebalance another member may hold the partitions and have committed higher offsets.
      for (let due = dueOf(generation); due.length > 0 && isCurrent(); due = dueOf(generation)) {
        const partitions = due.map(({ partition, offset }) => ({ partition, offset }));
        await generation.commit?.({ topics: [{ topic, partitions }] });
        for (const { offset, progress } of due) progress.committed(offset);
        markProgress();
      }
    } catch (error) {
      // The next finished event or `retryCommit` tries again. Events whose offset is never committed are delivered again.
      log?.debug({ err: error, topic }, 'offset commit failed; will retry');
    } finally {
      generation.committing = undefined;
    }
  }

  return {
    topic,
    revoke,
    /** Called when the group has assigned partitions again. Events that had not begun are delivered again, to this member or another. */
    assign(partitions: number[]): void {
      revoke();
      current = newGeneration(partitions.length);
      queue.reserve(partitions.map(String));
      markProgress();
    },
    deliver({ batch, pause, commitOffsetsIfNecessary }: Delivery): void {
      const generation = current;
      markProgress();
      if (generation.revoked.signal.aborted) return void pause(); // resumed when the partition is assigned again
      const held = generation.partitions.get(batch.partition) ?? { progress: partitionProgress() };
      generation.partitions.set(batch.partition, held);
      generation.commit = commitOffsetsIfNecessary;
      held.progress.endsAt(batch.highWatermark);
      for (const message of batch.messages) start(generation, batch.partition, held, message);
      if (held.progress.unfinished > pauseAbove) held.resume ??= pause();
    },
    /** Revokes the partitions and waits for running handlers, then for at most `commitMs` for the commit of their offsets. */
    async drain(commitMs: number): Promise<void> {
      revoke();
      await Promise.all(inProgress);
      await within(commitMs, 'Committing', commit(current)).catch(() => undefined); // events without a commit are delivered again
    },
    lag: () => lagOf(current),
    /** Returns the number of partitions that the member holds. */
    size: () => (current.revoked.signal.aborted ? 0 : current.assigned),
    /** Commits offsets whose commit has failed. */
    retryCommit: (): void => void commit(current),
    /** Returns for how long, in ms, the partitions have been revoked and not assigned again; 0 while they are assigned. */
    revokedForMs: () => (current.revokedAt === undefined ? 0 : performance.now() - current.revokedAt),
    /** Returns for how long, in ms, there has been no progress although events wait and no handler runs; otherwise 0. */
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
