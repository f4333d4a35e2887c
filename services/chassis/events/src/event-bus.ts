import type { Envelope } from './envelope.ts';

/**
 * Carries events between services. Delivery is at least once to every group, so handlers commit an inbox mark with their
 * effect. Events of one topic and key reach a group in the order of publishing; different keys are handled concurrently.
 */
export interface EventBus {
  /**
   * Resolves when no event can be lost any more. With a broker: once the broker has stored the events. In one process: once each group has
   * handled them or stored dead letters. After a rejection of any kind some events may have been published: publish all of them again
   * later.
   */
  publish(events: Envelope[]): Promise<void>;
  /**
   * Subscribes a group; when this resolves, the group misses no later event. Members of one group, on any replica, share the group's
   * events; each group receives all events. A group may miss events that were published before its first subscription, so relays start
   * after consumers.
   */
  subscribe(options: SubscribeOptions): Promise<Subscription>;
  /** Rejects with the reason while the bus cannot be reached. */
  ping?(): Promise<void>;
  /** Stops this connection's subscriptions, then closes the connection. Later calls reject. */
  close(): Promise<void>;
}

export interface SubscribeOptions {
  /** The name of the consumer group, e.g. `evaluation`. */
  group: string;
  topics: string[];
  /**
   * Resolves when the event's effect is committed. A rejection is retried; after the last attempt the event goes to the dead letters. A
   * rejection with `unavailable` does not count as an attempt: the event is retried until it is handled or fails for another reason.
   * Meanwhile the other events of its key wait.
   *
   * `signal` aborts at the timeout. A handler that runs for twice the timeout may overlap with the next attempt; if the handler succeeds
   * late, the event is handled.
   */
  handler: (event: Envelope, signal: AbortSignal) => Promise<void>;
  /**
   * How many events of one topic the member handles at once. Default 16. Events of the same key are handled one at a time. All partitions
   * of the member share these slots. If there are no more partitions than slots, each partition can always begin one event.
   */
  concurrency?: number;
  /** Maximum number of attempts at an event before it goes to the dead letters. Default 5. */
  maxAttempts?: number;
  /** Maximum time of one attempt in ms. Default 5,000. All attempts at one event together have 30 s. */
  handlerTimeoutMs?: number;
  /**
   * Whether a dependency of all handlers of the group, e.g. their database, has an outage. Called after a failure. During an outage,
   * failures count neither as attempts nor against the event's time. Never rejects. Default: false.
   */
  isUnavailable?: () => Promise<boolean>;
  /** Called when the dead letter of an event is stored. */
  onGivenUp?: () => void;
}

export interface Subscription {
  /**
   * Begins no more events and lets running attempts end (each within its timeout). Events that are still not handled are delivered to other
   * members of the group, or to later ones.
   */
  stop(): Promise<void>;
  /** Number of stored events that the member still has to handle, as far as the member knows. Undefined without a broker. */
  lag?(): number;
  /**
   * Number of partitions of each topic that the member holds; 0 during a rebalance, or if its group has more members than
   * partitions. Undefined without a broker.
   */
  partitions?(): ReadonlyMap<string, number>;
}

/** Returns the topic that keeps the events of `topic` that a group could not handle. */
export function deadLetterTopic(topic: string): string {
  return `${topic}.dead-letter`;
}

/** An event that one group could not handle, with the facts that are needed to understand and replay it. */
export interface DeadLetter {
  /** The dead-letter topic: `<topic>.dead-letter`. */
  topic: string;
  group: string;
  /** Number of attempts at the event. */
  attempts: number;
  /** Why the last attempt failed. */
  reason: string;
  time: Date;
  event: Envelope;
}
