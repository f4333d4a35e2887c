import { unavailable } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/log';
import { type AttemptTimes, attemptEvent } from './attempts.ts';
import type { DeadLetters } from './dead-letters.ts';
import type { Envelope } from './envelope.ts';
import { deadLetterTopic, type EventBus, type SubscribeOptions } from './event-bus.ts';
import { type KeyedQueue, keyedQueue, type Rest } from './keyed-queue.ts';

export interface InProcessEventBusOptions extends AttemptTimes {
  deadLetters: DeadLetters;
  /**
   * The groups that take each topic's events, where they are known beforehand: until all of them have subscribed,
   * publishing to that topic rejects, so that no order of starting loses an event.
   */
  groups?: Record<string, string[]>;
  log?: Logger;
}

/** One group's share of one topic. Known from its first subscription on; without members its events have to wait. */
interface Channel {
  group: string;
  topic: string;
  members: Set<Member>;
  queue: KeyedQueue;
}

interface Member extends SubscribeOptions {
  concurrency: number;
  stopping: AbortController;
  running: Set<Promise<unknown>>;
}

/**
 * The event bus of one process, shared by all its units and fed by their durable outboxes. It stores nothing itself:
 * `publish` resolves only when each group has handled each event or put it to the dead letters, and rejects, so that
 * the relay comes again, when a group has stopped, has no member, or its dead letter could not be stored.
 */
export function inProcessEventBus(options: InProcessEventBusOptions): EventBus {
  const { deadLetters, log, groups = {} } = options;
  const channels = new Map<string, Map<string, Channel>>();
  const stops = new Set<() => Promise<void>>();
  let closed = false;

  for (const [topic, names] of Object.entries(groups)) for (const group of names) channelOf(topic, group);

  function channelOf(topic: string, group: string): Channel {
    const ofTopic = channels.get(topic) ?? new Map<string, Channel>();
    channels.set(topic, ofTopic);
    const channel = ofTopic.get(group) ?? { group, topic, members: new Set(), queue: keyedQueue(0) };
    ofTopic.set(group, channel);
    return channel;
  }

  /** The member with most room. The queue's limit is that of all members together, so one has room. */
  function freest({ members, group, topic }: Channel): Member {
    const [first] = [...members].sort((a, b) => b.concurrency - b.running.size - (a.concurrency - a.running.size));
    if (!first) throw unavailable(`Nobody of ${group} takes events of ${topic} now`);
    return first;
  }

  async function handle(event: Envelope, member: Member, rest: Rest): Promise<void> {
    const { group, stopping } = member;
    const givenUp = await attemptEvent(event, { ...options, ...member, stopped: stopping.signal, rest });
    if (!givenUp) return;
    await deadLetters.append({ ...givenUp, topic: deadLetterTopic(event.topic), group, time: new Date(), event });
    const { id, type, topic } = event;
    log?.error({ group, topic, type, eventId: id, ...givenUp }, 'an event went to the dead letters');
  }

  async function take(event: Envelope, channel: Channel): Promise<void> {
    await channel.queue.run(event.key, async (rest) => {
      const member = freest(channel);
      const handled = handle(event, member, rest);
      member.running.add(handled);
      await handled.finally(() => member.running.delete(handled));
    });
  }

  function resize({ members, queue, group, topic }: Channel): void {
    queue.resize([...members].reduce((sum, { concurrency }) => sum + concurrency, 0));
    if (members.size === 0) queue.refuseWaiting(unavailable(`Nobody of ${group} takes events of ${topic} now`));
  }

  return {
    async publish(events) {
      if (closed) throw unavailable('The event bus is closed');
      const deliveries = events.flatMap((event) =>
        [...(channels.get(event.topic)?.values() ?? [])].map((channel) => ({ event, channel })),
      );
      for (const { channel } of deliveries) freest(channel); // nothing is handed over while a group is away
      const results = await Promise.allSettled(deliveries.map(({ event, channel }) => take(event, channel)));
      const failed = results.find((result) => result.status === 'rejected');
      if (failed) throw unavailable('Not every event was handled; publish them again', failed.reason);
    },

    async subscribe(subscription) {
      if (closed) throw unavailable('The event bus is closed');
      const { group, topics, concurrency = 16 } = subscription;
      if (!Number.isSafeInteger(concurrency) || concurrency < 1) throw new RangeError('concurrency is at least 1');
      const member: Member = { ...subscription, concurrency, stopping: new AbortController(), running: new Set() };
      const joined = topics.map((topic) => channelOf(topic, group));
      for (const channel of joined) {
        channel.members.add(member);
        resize(channel);
      }

      async function stop(): Promise<void> {
        stops.delete(stop);
        for (const channel of joined) {
          channel.members.delete(member);
          resize(channel);
        }
        member.stopping.abort();
        await Promise.allSettled(member.running);
      }
      stops.add(stop);
      return { stop };
    },

    async ping() {
      if (closed) throw unavailable('The event bus is closed');
    },

    async close() {
      closed = true;
      await Promise.all([...stops].map((stop) => stop()));
    },
  };
}
