import { setTimeout as delay } from 'node:timers/promises';
import type { Consumer } from 'kafkajs';
import { type KafkaConnection, kafkaClient, within } from './kafka-client.ts';
import { createShare, type Share } from './kafka-share.ts';
import type { TakenMessage } from './kafka-take.ts';
import { watchConsumer } from './kafka-watch.ts';
import type { Rest } from './keyed-queue.ts';

/** How a member of a group keeps in touch. Tests shorten these times; production keeps the defaults. */
export interface MemberTimes {
  /** After so many ms without a sign of it the group gives a member's partitions to others. Default 10,000. */
  sessionTimeoutMs?: number;
  /**
   * A consumer is made anew that has neither fetched nor beat for so long, or for so long has brought nothing and
   * committed nothing although events wait and none is being handled. Default 60,000.
   */
  stalledAfterMs?: number;
}

export interface MemberOptions extends KafkaConnection, MemberTimes {
  groupId: string;
  topic: string;
  /** How many events are handled at once, each of another key. */
  concurrency: number;
  /** For tests that speak for a consumer. */
  makeConsumer?: (options: MemberOptions) => Consumer;
  /** Resolves when the event is done with, for good; rejects when `stopped` came first, and it is left to others. */
  take: (message: TakenMessage, stopped: AbortSignal, rest: Rest) => Promise<void>;
}

/** One topic's consumer in one group, from joining to leaving, whatever happens to the broker in between. */
export interface Member {
  /** Resolves when it has its part of the topic for the first time. */
  joined: Promise<void>;
  /** How many events of its part are stored and not yet handled. */
  lag(): number;
  /** Begins nothing more, waits for what is being handled, commits it and leaves the group. */
  stop(): Promise<void>;
}

const retries = 40;
const firstPauseMs = 250;
const longestPauseMs = 5_000;
/** What a stop may take beyond the handlers that are running, when the broker does not answer. */
const commitMs = 2_000;
const leaveMs = 3_000;

export function joinGroup(options: MemberOptions): Member {
  const { groupId, topic, log, stalledAfterMs = 60_000 } = options;
  const share = createShare(options);
  const stopping = new AbortController();
  const joined = Promise.withResolvers<void>();
  const life = supervise();

  /** kafkajs would restart a crashed consumer itself, but not one that hangs; so one loop does both. */
  async function supervise(): Promise<void> {
    let pauseMs = firstPauseMs;
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      const reason = await live();
      if (stopping.signal.aborted) return;
      if (performance.now() - startedAt > 60_000) pauseMs = firstPauseMs;
      log?.warn({ err: reason, group: groupId, topic, pauseMs }, 'a consumer of events ended, and begins anew');
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      pauseMs = Math.min(longestPauseMs, pauseMs * 2);
    }
  }

  /** One consumer's life. Resolves with why it ended; with nothing when it was stopped. */
  async function live(): Promise<unknown> {
    const consumer = (options.makeConsumer ?? makeConsumer)(options);
    const end = Promise.withResolvers<unknown>();
    const endWatch = watchConsumer((listener) => onSignOfLife(consumer, listener), share, stalledAfterMs, end.resolve);
    const onStop = () => end.resolve(undefined);
    stopping.signal.addEventListener('abort', onStop);
    let ended = false;

    consumer.on(consumer.events.CRASH, ({ payload }) => end.resolve(payload.error));
    // The others get what is not begun; what is being handled may meet them there, and the inbox tells them apart.
    consumer.on(consumer.events.REBALANCING, () => {
      if (!ended) share.revoke(); // else they are its successor's
    });
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      if (ended) return;
      share.assign(payload.memberAssignment[topic] ?? []);
      if (stopping.signal.aborted) return share.revoke();
      consumer.resume([{ topic }]);
      joined.resolve();
    });

    const started = begin(consumer, () => ended, share);
    started.catch(end.resolve);
    const reason = await end.promise;
    endWatch();
    stopping.signal.removeEventListener('abort', onStop);
    if (stopping.signal.aborted) await share.settle(commitMs);
    else share.revoke();
    ended = true;
    // A consumer that is still joining cannot leave yet: it does so as soon as it can. A broken one is not waited for.
    const left = started.catch(() => undefined).then(() => consumer.disconnect());
    const outcome = within(leaveMs, 'Leaving the group', left).catch((error: unknown) =>
      log?.debug({ err: error, group: groupId, topic }, 'a consumer did not leave its group'),
    );
    if (stopping.signal.aborted) await outcome;
    return reason;
  }

  return {
    joined: joined.promise,
    lag: () => share.lag(),
    async stop() {
      stopping.abort();
      await life;
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

function onSignOfLife(consumer: Consumer, listener: () => void): void {
  const { FETCH, HEARTBEAT, GROUP_JOIN } = consumer.events;
  for (const event of [FETCH, HEARTBEAT, GROUP_JOIN] as const) consumer.on(event, listener);
}

async function begin(consumer: Consumer, hasEnded: () => boolean, share: Share): Promise<void> {
  await consumer.connect();
  // A group that is new takes what was published before it: nothing is lost to the order of starting.
  await consumer.subscribe({ topics: [share.topic], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    async eachBatch(payload) {
      if (!hasEnded()) share.deliver(payload);
    },
  });
}
