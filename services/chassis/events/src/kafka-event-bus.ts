import { unavailable } from '@parley/kernel/errors';
import { within } from '@parley/kernel/timing/timers';
import type { Admin } from 'kafkajs';
import type { AttemptTimes } from './attempts.ts';
import type { EventBus } from './event-bus.ts';
import { type KafkaConnection, kafkaClient } from './kafka-client.ts';
import { handleMessage } from './kafka-handle.ts';
import { joinGroup, type Member, type MemberTimes } from './kafka-member.ts';
import { toMessage } from './kafka-message.ts';
import { kafkaProducer } from './kafka-producer.ts';

export interface KafkaEventBusOptions extends KafkaConnection, AttemptTimes, MemberTimes {
  /** How long, in ms, `subscribe` waits for partitions to be assigned; joining continues after that. Default 10,000; 0: no wait. */
  joinTimeoutMs?: number;
}

const pingMs = 3_000;

/**
 * The event bus on Apache Kafka. Topics and their dead-letter topics are created beforehand (`kafka-topics.ts`). During an outage
 * publishing rejects within seconds, and consumers reconnect by themselves. Each topic of a subscription has its own Kafka group,
 * `<group>.<topic>`. So when a new version subscribes to one more topic, members of the old version neither rebalance nor are assigned an
 * unknown topic.
 */
export function kafkaEventBus(options: KafkaEventBusOptions): EventBus {
  const { log, joinTimeoutMs = 10_000 } = options;
  const producer = kafkaProducer(options);
  const stops = new Set<() => Promise<void>>();
  let admin: Promise<Admin> | undefined;
  let closed = false;

  function assertOpen(): void {
    if (closed) throw unavailable('The event bus is closed');
  }

  async function connectAdmin(): Promise<Admin> {
    const made = kafkaClient(options, { retries: 1 }).admin();
    await made.connect();
    return made;
  }

  async function describe(): Promise<void> {
    admin ??= connectAdmin();
    await (await admin).describeCluster();
  }

  return {
    async publish(events) {
      assertOpen();
      const byTopic = Map.groupBy(events, ({ topic }) => topic);
      const sent = [...byTopic].map(([topic, ofTopic]) => producer.send(topic, ofTopic.map(toMessage)));
      const failed = (await Promise.allSettled(sent)).find((result) => result.status === 'rejected');
      if (failed) throw failed.reason;
    },

    async subscribe({ topics, concurrency = 16, ...subscription }) {
      assertOpen();
      if (!Number.isSafeInteger(concurrency) || concurrency < 1) throw new RangeError('concurrency is at least 1');
      const { group } = subscription;
      const handling = { ...options, ...subscription, producer };
      const members: Member[] = topics.map((topic) =>
        joinGroup({
          ...options,
          groupId: kafkaGroup(group, topic),
          topic,
          concurrency,
          handle: (message, stopSignal, pause) => handleMessage(message, handling, stopSignal, pause),
        }),
      );
      let stopped: Promise<void> | undefined;
      const stop = () => {
        stopped ??= Promise.all(members.map((member) => member.stop())).then(() => void stops.delete(stop));
        return stopped;
      };
      stops.add(stop);

      const subscribed = {
        stop,
        lag: () => members.reduce((sum, member) => sum + member.lag(), 0),
        partitions: () => new Map(members.map((member) => [member.topic, member.partitions()])),
      };
      if (joinTimeoutMs === 0) return subscribed;
      const joined = Promise.all(members.map((member) => member.joined));
      await within(joinTimeoutMs, 'Joining', joined).catch(() =>
        log?.warn({ group, topics }, 'no Kafka partitions assigned yet; consumer starts without them'),
      );
      return subscribed;
    },

    async ping() {
      assertOpen();
      try {
        await within(pingMs, 'Asking Kafka', describe());
      } catch (error) {
        const broken = admin;
        admin = undefined;
        void broken?.then((made) => made.disconnect()).catch(() => undefined);
        throw unavailable('Kafka cannot be reached', error);
      }
    },

    async close() {
      closed = true;
      await Promise.all([...stops].map((stop) => stop()));
      await producer.close();
      await admin?.then((made) => made.disconnect()).catch(() => undefined);
    },
  };
}

/** Returns the Kafka group in which the members of `group` share a topic. */
export function kafkaGroup(group: string, topic: string): string {
  return `${group}.${topic}`;
}
