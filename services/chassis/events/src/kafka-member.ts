import { backoff } from '@parley/kernel/timing/backoff';
import { sleep, within } from '@parley/kernel/timing/timers';
import type { Consumer } from 'kafkajs';
import { type Assignment, createAssignment } from './kafka-assignment.ts';
import { type KafkaConnection, kafkaClient } from './kafka-client.ts';
import type { ReceivedMessage } from './kafka-handle.ts';
import { watchConsumer } from './kafka-watch.ts';
import type { Pause } from './keyed-queue.ts';

/** Timeouts of a group's members. Tests shorten them; production keeps the defaults. */
export interface MemberTimes {
  /** Time in ms without a heartbeat after which the group reassigns a member's partitions. Default 10,000. */
  sessionTimeoutMs?: number;
  /**
   * Time in ms after which a stalled consumer is replaced. A consumer is stalled if it has neither fetched nor sent a heartbeat for this
   * time. It is also stalled if it has made no progress for this time although events wait and no handler runs. Default 60,000.
   */
  stalledAfterMs?: number;
}

export interface MemberOptions extends KafkaConnection, MemberTimes {
  groupId: string;
  topic: string;
  /** How many events are handled at once; events of the same key are handled one at a time. */
  concurrency: number;
  /** Makes the Kafka consumer. Tests replace it to emit the consumer's events. */
  makeConsumer?: (options: MemberOptions) => Consumer;
  /** Resolves when the event is handled or its dead letter is stored; rejects when `stopSignal` aborts first. */
  handle: (message: ReceivedMessage, stopSignal: AbortSignal, pause: Pause) => Promise<void>;
}

export type Member = ReturnType<typeof joinGroup>;

const retries = 40;
const pauseAfter = backoff({ firstMs: 250, maxMs: 5_000 });
/** Maximum time that `stop` waits for an unresponsive broker, in addition to the time of running handlers. */
const commitMs = 2_000;
const leaveMs = 3_000;

/** The consumer of one topic in one group. It survives outages of the broker until it is stopped. */
export function joinGroup(options: MemberOptions) {
  const { groupId, topic, log, stalledAfterMs = 60_000 } = options;
  const assignment = createAssignment(options);
  const stopping = new AbortController();
  const joined = Promise.withResolvers<void>();
  const supervised = supervise();

  /** kafkajs would restart a crashed consumer itself but not a hanging one, so this loop restarts both. */
  async function supervise(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      const reason = await runConsumer();
      if (stopping.signal.aborted) return;
      failures = performance.now() - startedAt > 60_000 ? 1 : failures + 1;
      const pauseMs = pauseAfter(failures);
      log?.warn({ err: reason, group: groupId, topic, pauseMs }, 'Kafka consumer failed; will restart');
      await sleep(pauseMs, stopping.signal);
    }
  }

  /** Runs one consumer. Resolves with the reason when the consumer fails, with undefined when it is stopped. */
  async function runConsumer(): Promise<unknown> {
    const consumer = (options.makeConsumer ?? makeConsumer)(options);
    const end = Promise.withResolvers<unknown>();
    const endWatch = watchConsumer(
      (listener) => onActivity(consumer, listener),
      assignment,
      stalledAfterMs,
      end.resolve,
    );
    const onStop = () => end.resolve(undefined);
    stopping.signal.addEventListener('abort', onStop);
    let ended = false;

    consumer.on(consumer.events.CRASH, ({ payload }) => end.resolve(payload.error));
    // Other members receive the events that have not begun. They may also receive an event that is still being handled here; their inbox
    // then detects the second delivery.
    consumer.on(consumer.events.REBALANCING, () => {
      if (!ended) assignment.revoke(); // after the consumer's end, its partitions belong to the next consumer
    });
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      if (ended) return;
      assignment.assign(payload.memberAssignment[topic] ?? []);
      if (stopping.signal.aborted) return assignment.revoke();
      consumer.resume([{ topic }]);
      joined.resolve();
    });

    const started = startConsumer(consumer, () => ended, assignment);
    started.catch(end.resolve);
    const reason = await end.promise;
    endWatch();
    stopping.signal.removeEventListener('abort', onStop);
    if (stopping.signal.aborted) await assignment.drain(commitMs);
    else assignment.revoke();
    ended = true;
    // A consumer that is still joining leaves the group after it has joined. Nothing waits for a failed consumer to leave.
    const disconnected = started.catch(() => undefined).then(() => consumer.disconnect());
    const outcome = within(leaveMs, 'Leaving the group', disconnected).catch((error: unknown) =>
      log?.debug({ err: error, group: groupId, topic }, 'Kafka consumer did not leave its group'),
    );
    if (stopping.signal.aborted) await outcome;
    return reason;
  }

  return {
    topic,
    /** Resolves at the first assignment of partitions. */
    joined: joined.promise,
    /** Returns the number of events that are stored in the member's partitions and not yet handled. */
    lag: () => assignment.lag(),
    /** Returns the number of partitions that the member holds. */
    partitions: () => assignment.size(),
    /** Begins no more events, waits for running handlers, commits and leaves the group. */
    async stop(): Promise<void> {
      stopping.abort();
      await supervised;
    },
  };
}

export function makeConsumer({ sessionTimeoutMs = 10_000, groupId, ...connection }: MemberOptions): Consumer {
  return kafkaClient(connection, { retries }).consumer({
    groupId,
    sessionTimeout: sessionTimeoutMs,
    rebalanceTimeout: 10_000,
    heartbeatInterval: 750,
    maxWaitTimeInMs: 750,
    maxBytesPerPartition: 256 * 1024,
    allowAutoTopicCreation: false,
    retry: { retries, restartOnFailure: async () => false },
  });
}

function onActivity(consumer: Consumer, listener: () => void): void {
  const { FETCH, HEARTBEAT, GROUP_JOIN } = consumer.events;
  for (const event of [FETCH, HEARTBEAT, GROUP_JOIN] as const) consumer.on(event, listener);
}

async function startConsumer(consumer: Consumer, hasEnded: () => boolean, assignment: Assignment): Promise<void> {
  await consumer.connect();
  // A new group also reads earlier events, so that no event is lost if the group starts after the publisher.
  await consumer.subscribe({ topics: [assignment.topic], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    async eachBatch(payload) {
      if (!hasEnded()) assignment.deliver(payload);
    },
  });
}
