import { unavailable } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import { type AttemptTimes, attemptEvent } from './attempts.ts';
import type { DeadLetters } from './dead-letters.ts';
import type { Envelope } from './envelope.ts';
import { deadLetterTopic, type EventBus, type SubscribeOptions } from './event-bus.ts';
import { type KeyedQueue, keyedQueue, type Pause } from './keyed-queue.ts';

export interface InProcessEventBusOptions extends AttemptTimes {
  deadLetters: DeadLetters;
  /**
   * The consumer groups of each topic, if they are known beforehand. Until all groups of a topic have subscribed, publishing to the topic
   * rejects, so that no start order loses an event.
   */
  groups?: Record<string, string[]>;
  log?: Logger;
}

/**
 * The events of one topic for one group. The queue is kept when the group's last member leaves: publishing rejects until another member
 * joins.
 */
interface GroupQueue {
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
 * The event bus of one process, shared by all its units and fed by their durable outboxes. The bus itself stores nothing: `publish`
 * resolves only when each group has handled each event or stored its dead letter. `publish` rejects, so that the relay retries, when a
 * group has stopped or has no member, or when a dead letter could not be stored.
 */
export function inProcessEventBus(options: InProcessEventBusOptions): EventBus {
  const { deadLetters, log, groups = {} } = options;
  const groupQueues = new Map<string, Map<string, GroupQueue>>();
  const stops = new Set<() => Promise<void>>();
  let closed = false;

  for (const [topic, names] of Object.entries(groups)) for (const group of names) groupQueueOf(topic, group);

  function groupQueueOf(topic: string, group: string): GroupQueue {
    const ofTopic = groupQueues.get(topic) ?? new Map<string, GroupQueue>();
    groupQueues.set(topic, ofTopic);
    const groupQueue = ofTopic.get(group) ?? { group, topic, members: new Set(), queue: keyedQueue(0) };
    ofTopic.set(group, groupQueue);
    return groupQueue;
  }

  /**
   * Returns the member with the most free slots. The queue's limit is the sum of its members' limits, so at least one member has a free
   * slot.
   */
  function leastBusy({ members, group, topic }: GroupQueue): Member {
    const [first] = [...members].sort((a, b) => b.concurrency - b.running.size - (a.concurrency - a.running.size));
    if (!first) throw unavailable(`No member of ${group} consumes ${topic} now`);
    return first;
  }

  async function handle(event: Envelope, member: Member, pause: Pause): Promise<void> {
    const { group, stopping } = member;
    const failure = await attemptEvent(event, { ...options, ...member, stopSignal: stopping.signal, pause });
    if (!failure) return;
    await deadLetters.append({ ...failure, topic: deadLetterTopic(event.topic), group, time: new Date(), event });
    member.onGivenUp?.();
    const { id, type, topic } = event;
    log?.error({ group, topic, type, eventId: id, ...failure }, 'event moved to dead letters');
  }

  async function deliver(event: Envelope, groupQueue: GroupQueue): Promise<void> {
    await groupQueue.queue.run(event.key, async (pause) => {
      const member = leastBusy(groupQueue);
      const handled = handle(event, member, pause);
      member.running.add(handled);
      await handled.finally(() => member.running.delete(handled));
    });
  }

  function resize({ members, queue, group, topic }: GroupQueue): void {
    queue.resize([...members].reduce((sum, { concurrency }) => sum + concurrency, 0));
    if (members.size === 0) queue.rejectWaiting(unavailable(`No member of ${group} consumes ${topic} now`));
  }

  return {
    async publish(events) {
      if (closed) throw unavailable('The event bus is closed');
      const deliveries = events.flatMap((event) =>
        [...(groupQueues.get(event.topic)?.values() ?? [])].map((groupQueue) => ({ event, groupQueue })),
      );
      for (const { groupQueue } of deliveries) leastBusy(groupQueue); // throws before any delivery if a group has no member
      const results = await Promise.allSettled(deliveries.map(({ event, groupQueue }) => deliver(event, groupQueue)));
      const failed = results.find((result) => result.status === 'rejected');
      if (failed) throw unavailable('Not every event was handled; publish them again', failed.reason);
    },

    async subscribe(subscription) {
      if (closed) throw unavailable('The event bus is closed');
      const { group, topics, concurrency = 16 } = subscription;
      if (!Number.isSafeInteger(concurrency) || concurrency < 1) throw new RangeError('concurrency is at least 1');
      const member: Member = { ...subscription, concurrency, stopping: new AbortController(), running: new Set() };
      const joined = topics.map((topic) => groupQueueOf(topic, group));
      for (const groupQueue of joined) {
        groupQueue.members.add(member);
        resize(groupQueue);
      }

      async function stop(): Promise<void> {
        stops.delete(stop);
        for (const groupQueue of joined) {
          groupQueue.members.delete(member);
          resize(groupQueue);
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
